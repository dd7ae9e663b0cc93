import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Readable, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Test } from 'tap';
import t from 'tap';
import { fetch } from 'undici';
import type { OpenObject } from '../../../../engine/ports/object-store.ts';
import { PIECE_BYTES, SendRoom, sendBody, sendPieces } from '../../../../http/kernel/answers/sending.ts';
import { httpApp, route } from '../../http-app.ts';

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

const MIB = 1024 * 1024;
const KIB = 1024;

t.test('one download has whole pieces, and many together have little more than there is', async (t) => {
  const room = new SendRoom(16 * MIB);
  const taken = Array.from({ length: 1_000 }, () => room.take(PIECE_BYTES));
  t.strictSame(taken.slice(0, 20), Array<number>(20).fill(PIECE_BYTES));
  t.ok(taken.reduce((sum, bytes) => sum + bytes, 0) <= 16 * MIB + 1_000 * 8 * KIB);
  t.equal(taken.at(-1), 8 * KIB, 'each has something');
  for (const bytes of taken) room.giveBack(bytes);
  t.equal(room.take(PIECE_BYTES), PIECE_BYTES, 'and all of it comes back');
  t.equal(room.take(10), 10, 'nobody takes more than is asked for');
});

t.test('many slow clients at once get the whole of their downloads, and none is cut off', async (t) => {
  const CLIENTS = 60;
  const BYTES = 8 * MIB;
  let [memory, most] = [0, 0];
  const fill = async (target: Uint8Array, position: number): Promise<void> => {
    target.fill((position / BYTES) * 250);
  };
  const download = route('/file', 'open', async ({ response, signal }) => {
    response.setHeader('content-length', BYTES);
    const write = response.write.bind(response) as (piece: Buffer, done: () => void) => boolean;
    response.write = ((piece: Buffer, done: () => void) => {
      memory += piece.length;
      most = Math.max(most, memory);
      return write(piece, () => {
        memory -= piece.length;
        done();
      });
    }) as typeof response.write;
    await sendBody({ body: Readable.from([]), direct: { bytes: BYTES, fill } }, response, signal);
  });
  // What is kept for clients is looked at a hundred times a second.
  const limits = { maxUnsentSize: 4 * MIB, keepAliveTimeoutMs: 40 };
  const { port, metrics } = await httpApp(t, [download], { limits });
  const clients = Array.from({ length: CLIENTS }, () => connect(port, '127.0.0.1'));
  t.teardown(() => clients.map((socket) => socket.destroy()));
  for (const socket of clients) socket.write('GET /base/file HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  // Nobody reads before all answers have begun.
  await Promise.all(clients.map((socket) => once(socket, 'readable')));
  const got = await Promise.all(clients.map(bytesOf));
  t.ok(
    got.every((bytes) => bytes > BYTES && bytes < BYTES + KIB),
    'all of them, with the heads',
  );
  t.ok(most <= limits.maxUnsentSize, `at most ${most} bytes were written and not taken`);
  t.notMatch(await metrics.text(), /reason="unsent"[^}]*\} [1-9]/);
});

/** Up to the end of the connection, however it came. */
async function bytesOf(socket: Socket): Promise<number> {
  let bytes = 0;
  socket.on('data', (piece: Buffer) => {
    bytes += piece.length;
  });
  await new Promise((resolve) => socket.once('close', resolve).on('error', () => undefined));
  return bytes;
}

const never = new AbortController().signal;

/** A server whose next answer is given by `send`, and what became of it. */
async function served(t: Test, send: (response: ServerResponse) => Promise<void>) {
  const outcome = Promise.withResolvers<unknown>();
  const server = createServer((_, response) => {
    send(response).then(outcome.resolve, outcome.resolve);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}`, outcome: outcome.promise };
}

type Opened = Pick<OpenObject, 'body' | 'direct'>;

/** Of so many bytes, in both forms; `targets` is what the direct one was to fill. */
function opened(bytes: number, targets: Uint8Array[] = []): { readonly content: Buffer; readonly direct: Opened } {
  const content = Buffer.alloc(bytes, 'the quick brown fox jumps over the lazy dog, ');
  const fill = async (target: Uint8Array, position: number): Promise<void> => {
    targets.push(target);
    // The later one is done first.
    if (targets.length % 2 === 1) await new Promise(setImmediate);
    if (position + target.length > content.length) throw new Error('asked for more than there is');
    content.copy(target, 0, position);
  };
  return { content, direct: { body: Readable.from([content]), direct: { bytes, fill } } };
}

t.test('sends what there is, whether it comes as a stream or is read directly', async (t) => {
  for (const bytes of [1, PIECE_BYTES - 1, PIECE_BYTES, 2 * PIECE_BYTES + 1, 5 * PIECE_BYTES + 7]) {
    const { content, direct } = opened(bytes);
    for (const each of [{ body: Readable.from([content]) }, direct]) {
      const { url, outcome } = await served(t, (response) => sendBody(each, response, never));
      const got = Buffer.from(await (await fetch(url)).arrayBuffer());
      t.ok(got.equals(content), `${bytes} bytes`);
      t.equal(await outcome, undefined);
      t.ok(each.body.destroyed);
    }
  }
});

t.test('two memories serve a large body, and are given back', async (t) => {
  const targets: Uint8Array[] = [];
  const { url, outcome } = await served(t, (response) =>
    sendBody(opened(9 * PIECE_BYTES + 1, targets).direct, response, never),
  );
  await (await fetch(url)).arrayBuffer();
  t.equal(await outcome, undefined);
  const memories = new Set(targets.map(({ buffer }) => buffer as ArrayBuffer));
  t.equal(memories.size, 2);
  t.ok([...memories].every(({ detached }) => detached));
});

t.test('the next of several answers on a connection is complete too', async (t) => {
  const { url, outcome } = await served(t, (response) => sendBody(opened(10).direct, response, never));
  for (let n = 0; n < 3; n++) t.equal(await (await fetch(url)).text(), 'the quick ');
  t.equal(await outcome, undefined);
});

t.test('a body that fails breaks the answer off', async (t) => {
  const lost = new Error('disk lost');
  const { direct } = opened(MIB);
  const fill = async (_: Uint8Array, position: number): Promise<void> => {
    if (position > 0) throw lost;
  };
  const failing: readonly Opened[] = [
    {
      body: Readable.from(
        (async function* () {
          yield Buffer.alloc(MIB);
          throw lost;
        })(),
      ),
    },
    { ...direct, direct: { bytes: MIB, fill } },
  ];
  for (const each of failing) {
    const { url, outcome } = await served(t, (response) => sendBody(each, response, never));
    const response = await fetch(url);
    await t.rejects(buffer(response.body as unknown as Readable));
    t.equal(await outcome, lost);
    t.ok(each.body.destroyed);
  }
});

t.test('a caller that leaves, or an abort, closes the body', async (t) => {
  for (const waits of [false, true])
    for (const end of ['leave', 'abort'] as const) {
      const stop = new AbortController();
      const body = new Readable({ read: () => body.push(Buffer.allocUnsafeSlow(MIB)) });
      const fill = (_: Uint8Array, at: number) => (waits && at > 0 ? new Promise<void>(() => {}) : Promise.resolve());
      const each = { body, direct: { bytes: 2 ** 40, fill } };
      const { port, outcome } = await served(t, (response) => sendBody(each, response, stop.signal));
      const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'));
      await once(socket, 'data');
      if (end === 'leave') socket.destroy();
      else stop.abort();
      t.match(await outcome, { code: end === 'abort' ? 'ABORT_ERR' : 'ERR_STREAM_PREMATURE_CLOSE' });
      t.ok(body.destroyed);
    }
});
