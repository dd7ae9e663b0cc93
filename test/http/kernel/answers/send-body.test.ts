import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { fetch } from 'undici';
import type { OpenObject } from '../../../../engine/ports/object-store.ts';
import { PIECE_BYTES, sendBody } from '../../../../http/kernel/answers/send-body.ts';

const MIB = 1024 * 1024;
const never = new AbortController().signal;

/** A server whose next answer is given by `send`, and what became of it. */
async function setup(t: Test, send: (response: ServerResponse) => Promise<void>) {
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
      const { url, outcome } = await setup(t, (response) => sendBody(each, response, never));
      const got = Buffer.from(await (await fetch(url)).arrayBuffer());
      t.ok(got.equals(content), `${bytes} bytes`);
      t.equal(await outcome, undefined);
      t.ok(each.body.destroyed);
    }
  }
});

t.test('two memories serve a large body, and are given back', async (t) => {
  const targets: Uint8Array[] = [];
  const { url, outcome } = await setup(t, (response) =>
    sendBody(opened(9 * PIECE_BYTES + 1, targets).direct, response, never),
  );
  await (await fetch(url)).arrayBuffer();
  t.equal(await outcome, undefined);
  const memories = new Set(targets.map(({ buffer }) => buffer as ArrayBuffer));
  t.equal(memories.size, 2);
  t.ok([...memories].every(({ detached }) => detached));
});

t.test('the next of several answers on a connection is complete too', async (t) => {
  const { url, outcome } = await setup(t, (response) => sendBody(opened(10).direct, response, never));
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
    const { url, outcome } = await setup(t, (response) => sendBody(each, response, never));
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
      const { port, outcome } = await setup(t, (response) => sendBody(each, response, stop.signal));
      const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'));
      await once(socket, 'data');
      if (end === 'leave') socket.destroy();
      else stop.abort();
      t.match(await outcome, { code: end === 'abort' ? 'ABORT_ERR' : 'ERR_STREAM_PREMATURE_CLOSE' });
      t.ok(body.destroyed);
    }
});
