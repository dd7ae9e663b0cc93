import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { fetch } from 'undici';
import { AnswerHead } from '../../../../http/kernel/answers/answer-head.ts';
import { headerLine } from '../../../../http/kernel/answers/header-line.ts';

/** What a client sees of an answer that is made so. */
async function answered(
  t: { teardown(fn: () => unknown): void },
  make: (head: AnswerHead) => ServerResponse,
): Promise<unknown> {
  const server = createServer({ optimizeEmptyRequests: true }, (request, response) => {
    const head = new AnswerHead(request, response, 'Thu, 01 Jan 1970 00:00:00 GMT');
    head.add(headerLine('x-one', '1'));
    head.add(headerLine('vary', 'origin'));
    make(head).end('text');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const shown = ['x-one', 'vary', 'x-two', 'content-length'].map((name) => response.headers.get(name));
  return [response.status, await response.text(), ...shown];
}

const HEADERS = [headerLine('x-two', '2'), headerLine('content-length', '4')];

t.test('an answer is the same whether its head is written at once or was asked for before', async (t) => {
  const expected = [201, 'text', '1', 'origin', '2', '4'];
  t.same(await answered(t, (head) => head.write(201, HEADERS)), expected);
  const handed = await answered(t, (head) => {
    head.response.setHeader('x-two', 'overwritten');
    return head.write(201, HEADERS);
  });
  t.same(handed, expected);
});

t.test('headers are known before and after the response was handed out', async (t) => {
  const known: boolean[] = [];
  await answered(t, (head) => {
    known.push(head.has('vary'), head.has('x-two'));
    const { response } = head;
    head.add(headerLine('x-two', '2'));
    known.push(head.has('vary'), head.has('x-two'));
    return response;
  });
  t.same(known, [true, false, true, true]);
});
