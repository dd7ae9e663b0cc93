import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { fetch } from 'undici';
import { sendBody } from '../../http/send-body.ts';

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

/** Each of a memory of its own, one of them a view of a larger one. */
function pieces(): readonly Buffer[] {
  const own = Array.from({ length: 9 }, (_, n) => Buffer.allocUnsafeSlow(MIB / 2 + n).fill(n));
  return [...own, Buffer.alloc(100, 'part').subarray(10)];
}

t.test('sends what there is, chunks of their own as others', async (t) => {
  for (const ownChunks of [true, undefined]) {
    const chunks = pieces();
    const expected = Buffer.concat(chunks);
    const { url, outcome } = await setup(t, async (response) => {
      const opened = { body: Readable.from(chunks), ...(ownChunks ? { ownChunks } : {}) };
      await sendBody(opened, response, never);
    });
    const got = Buffer.from(await (await fetch(url)).arrayBuffer());
    t.ok(got.equals(expected));
    t.equal(await outcome, undefined);
    t.strictSame(
      chunks.map(({ buffer }) => (buffer as ArrayBuffer).detached),
      chunks.map((_, n) => ownChunks === true && n < chunks.length - 1),
      'only memory that is all a chunk is given back',
    );
  }
});

t.test('the next of several answers on a connection is complete too', async (t) => {
  const { url, outcome } = await setup(t, (response) =>
    sendBody({ body: Readable.from([Buffer.allocUnsafeSlow(10).fill('x')]), ownChunks: true }, response, never),
  );
  for (let n = 0; n < 3; n++) t.equal(await (await fetch(url)).text(), 'xxxxxxxxxx');
  t.equal(await outcome, undefined);
});

t.test('a body that fails breaks the answer off', async (t) => {
  const lost = new Error('disk lost');
  const body = Readable.from(
    (async function* () {
      yield Buffer.alloc(MIB);
      throw lost;
    })(),
  );
  const { url, outcome } = await setup(t, (response) => sendBody({ body, ownChunks: true }, response, never));
  const response = await fetch(url);
  await t.rejects(buffer(response.body as unknown as Readable));
  t.equal(await outcome, lost);
});

t.test('a caller that leaves, or an abort, closes the body', async (t) => {
  const stop = new AbortController();
  for (const end of ['leave', 'abort'] as const) {
    const body = new Readable({ read: () => body.push(Buffer.allocUnsafeSlow(MIB)) });
    const { port, outcome } = await setup(t, (response) =>
      sendBody({ body, ownChunks: true }, response, end === 'abort' ? stop.signal : never),
    );
    const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'));
    await once(socket, 'data');
    if (end === 'leave') socket.destroy();
    else stop.abort();
    t.match(await outcome, { code: end === 'abort' ? 'ABORT_ERR' : 'ERR_STREAM_PREMATURE_CLOSE' });
    t.ok(body.destroyed);
  }
});
