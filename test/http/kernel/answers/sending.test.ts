import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import t, { type Test } from 'tap';
import { fetch } from 'undici';
import { sendPieces } from '../../../../http/kernel/answers/sending.ts';

const LONG = 'ä'.repeat(300_000);

/** Answers with the pieces; `ended` settles as the sending did. */
async function setup(t: Test, pieces: AsyncIterator<string>) {
  const stop = new AbortController();
  const ended = Promise.withResolvers<void>();
  ended.promise.catch(() => {});
  const server = createServer((_, response) => {
    sendPieces(pieces, response, stop.signal).then(ended.resolve, ended.reject);
  });
  t.teardown(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop, ended: ended.promise };
}

/** What was asked of it, and whether it was closed. */
function counted(count: number, failure?: Error) {
  const seen = { asked: 0, closed: false };
  const pieces: AsyncIterator<string> = {
    next: async () => {
      if (failure && seen.asked === count) throw failure;
      return seen.asked < count ? { value: `${seen.asked++}${LONG}`, done: false } : { value: undefined, done: true };
    },
    return: async () => {
      seen.closed = true;
      return { value: undefined, done: true };
    },
  };
  return { seen, pieces };
}

t.test('pieces arrive whole and in order, though their memory is given back', async (t) => {
  const { pieces, seen } = counted(20);
  const { url, ended } = await setup(t, pieces);
  const text = await (await fetch(url)).text();
  await ended;
  t.ok(text === Array.from({ length: 20 }, (_, n) => `${n}${LONG}`).join(''), 'every byte');
  t.ok(seen.closed);
});

t.test('a failure in the middle breaks the answer off and is told', async (t) => {
  const { pieces } = counted(3, new Error('gone'));
  const { url, ended } = await setup(t, pieces);
  await t.rejects((await fetch(url)).text());
  await t.rejects(ended, { message: 'gone' });
});

t.test('one piece is made for a reader that takes nothing, and an abort ends it', async (t) => {
  const { pieces, seen } = counted(1_000);
  const stop = new AbortController();
  const first = Promise.withResolvers<void>();
  /** Of a socket that is full: what is written is never taken. */
  const full = new Writable({ write: () => first.resolve() });
  const ended = sendPieces(pieces, full as ServerResponse, stop.signal);
  ended.catch(() => {});
  await first.promise;
  await new Promise(setImmediate);
  t.equal(seen.asked, 1);
  stop.abort(new Error('stopped'));
  await t.rejects(ended);
  t.ok(full.destroyed && seen.closed);
});
