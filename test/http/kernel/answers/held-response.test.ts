import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import t, { type Test } from 'tap';
import { HeldResponse } from '../../../../http/kernel/answers/held-response.ts';

type Handle = (request: IncomingMessage, response: HeldResponse) => void;

async function setup(t: Test, handle: Handle) {
  const server = createServer({ ServerResponse: HeldResponse }, handle);
  t.teardown(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
  });
  const closed = once(socket, 'close');
  socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  return { socket, got: () => text, closed };
}

const WAYS: Readonly<Record<string, (response: HeldResponse) => void>> = {
  'end alone': (response) => {
    response.statusCode = 201;
    response.end('whole');
  },
  'head and end': (response) => void response.writeHead(201, { 'content-length': 5 }).end('whole'),
  'head, write and end': (response) => {
    response.writeHead(201);
    response.write('who');
    response.end('le');
  },
  'flushed head': (response) => {
    response.statusCode = 201;
    response.flushHeaders();
    response.end('whole');
  },
  'a stream of many pieces': (response) => {
    response.statusCode = 201;
    void pipeline(Readable.from(['w', 'h', 'o', 'l', 'e']), response);
  },
};
for (const [way, answer] of Object.entries(WAYS))
  t.test(`${way}: nothing goes out before the promise has settled, and all of it after`, async (t) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<HeldResponse>();
    const statuses: number[] = [];
    const { got, closed } = await setup(t, (_request, response) => {
      response.hold((status) => {
        statuses.push(status);
        return promise;
      });
      answer(response);
      answered.resolve(response);
    });
    const response = await answered.promise;
    // A stream's first piece comes a turn later.
    while (!response.settled) await new Promise(setImmediate);
    t.equal(response.socket?.bytesWritten, 0);
    t.equal(got(), '');
    resolve();
    await response.settled;
    await closed;
    t.strictSame(statuses, [201], 'it asks once');
    t.match(got(), /^HTTP\/1.1 201 Created\r\n/);
    t.equal(
      got()
        .slice(got().indexOf('\r\n\r\n') + 4)
        .replaceAll(/\r\n|^\d+|(?<=\n)\d+/gm, '')
        .replaceAll(/[^whole]/g, ''),
      'whole',
    );
  });

t.test('a stream is told to wait, so that one piece is kept and no more', async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const held = Promise.withResolvers<HeldResponse>();
  let read = 0;
  const pieces = function* (): Generator<string> {
    for (; read < 100; read++) yield 'x'.repeat(100_000);
  };
  const { closed } = await setup(t, (_request, response) => {
    response.hold(() => promise);
    void pipeline(pieces(), response);
    held.resolve(response);
  });
  const response = await held.promise;
  while (!response.settled) await new Promise(setImmediate);
  t.ok(read <= 2, `${read} pieces were taken`);
  resolve();
  await closed;
  t.equal(read, 100);
});

t.test('a client that goes away meanwhile leaves nothing behind', async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const held = Promise.withResolvers<HeldResponse>();
  const { socket } = await setup(t, (_request, response) => {
    response.hold(() => promise);
    response.end('whole');
    held.resolve(response);
  });
  const response = await held.promise;
  const closed = once(response, 'close');
  socket.destroy();
  await closed;
  resolve();
  await response.settled;
  t.ok(response.destroyed);
});

t.test('an answer that need not wait does not', async (t) => {
  const { got, closed } = await setup(t, (_request, response) => {
    response.hold(() => undefined);
    response.end('whole');
    t.equal(response.settled, undefined);
  });
  await closed;
  t.match(got(), /whole$/);
});
