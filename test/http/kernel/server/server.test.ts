import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import t, { type Test } from 'tap';
import { Agent, fetch, request } from 'undici';
import { aborted } from '../../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { readBytes, readJson } from '../../../../http/kernel/bodies/body.ts';
import { bodyStream } from '../../../../http/kernel/bodies/body-stream.ts';
import { tooLarge } from '../../../../http/kernel/pipeline/errors.ts';
import type { Route } from '../../../../http/kernel/pipeline/route.ts';
import { HttpServer } from '../../../../http/kernel/server/server.ts';
import { dial, httpApp, raw, route } from '../../http-app.ts';

const MIB = 1024 * 1024;
/** A shorter time could be over before a connection was heard at all. */
const LONGER_THAN_A_STALL_MS = 2_500;

const takes = (method: Route['method'], path: string, handler: Route['handler']): Route =>
  route(path, 'open', handler, { method });
const refuses = (path: string): Route =>
  takes('POST', path, async () => {
    throw tooLarge('too much');
  });
const json = (path: string, most: number): Route =>
  takes('POST', path, async (context) => context.json(200, await readJson(context.request, most)));

/** Writes until the server stops taking, or the bytes are sent. */
async function pour(socket: Socket, bytes: number): Promise<void> {
  const chunk = Buffer.alloc(64 * 1024);
  for (let sent = 0; sent < bytes && socket.writable; sent += chunk.length)
    if (!socket.write(chunk)) await drained(socket);
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      socket.off('drain', go).off('close', go);
      resolve();
    };
    socket.on('drain', go).on('close', go);
  });
}

t.test('a refusal before the body is read reaches a client that is still sending', async (t) => {
  const app = await httpApp(t, [refuses('/upload')]);
  const client = dial(app.port);
  client.socket.write(`POST /upload HTTP/1.1\r\nhost: x\r\ncontent-length: ${20 * MIB}\r\n\r\n`);
  await pour(client.socket, 20 * MIB);
  const answer = await client.answer;
  t.match(answer, /^HTTP\/1\.1 400 /);
  t.match(answer, /connection: close/i);
  t.match(answer, /"message":"too much"/);
});

t.test('an unwanted body is read for 64 MiB, then the connection is cut', async (t) => {
  const app = await httpApp(t, [takes('POST', '/upload', async (context) => context.json(200, 'enough'))]);
  const client = dial(app.port);
  client.socket.write(`POST /upload HTTP/1.1\r\nhost: x\r\ncontent-length: ${500 * MIB}\r\n\r\n`);
  await pour(client.socket, 500 * MIB);
  await client.answer;
  t.ok(client.socket.bytesWritten < 250 * MIB, `${client.socket.bytesWritten} bytes were taken`);
});

t.test(
  'a client that asks first is refused before it sends, and told to go on only when the body is wanted',
  async (t) => {
    const app = await httpApp(t, [refuses('/refused'), json('/wanted', 100)]);
    const head = (path: string): string =>
      `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\nexpect: 100-continue\r\n`;
    const refused = dial(app.port);
    refused.socket.write(`${head('/refused')}\r\n`);
    t.match(await refused.answer, /^HTTP\/1\.1 400 /);

    const wanted = dial(app.port);
    wanted.socket.write(`${head('/wanted')}connection: close\r\n\r\n`);
    await once(wanted.socket, 'data');
    t.match(wanted.got(), /^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    wanted.socket.write('[]');
    t.match(await wanted.answer, /HTTP\/1\.1 200 .*\[\]$/s);
    const odd = await raw(app.port, 'GET /x HTTP/1.1\r\nhost: x\r\nexpect: miracles\r\nconnection: close\r\n\r\n');
    t.match(odd, /^HTTP\/1\.1 417 .*"status":"bad-request"/s);
  },
);

t.test('a body over the bound of its reader is 400, whether its length was told or not', async (t) => {
  const app = await httpApp(t, [json('/json', 10)]);
  const headers = { 'content-type': 'application/json' };
  const post = async (body: string | AsyncIterable<Buffer>): Promise<number> => {
    const { statusCode, body: answer } = await request(`${app.url}/json`, {
      method: 'POST',
      headers,
      body: body as string,
    });
    await answer.dump();
    return statusCode;
  };
  const endless = async function* (): AsyncGenerator<Buffer> {
    for (let i = 0; i < 100; i++) yield Buffer.alloc(1000, ' ');
  };
  t.equal(await post('[1,2]'), 200);
  t.equal(await post('[1,2,3,4,5,6]'), 400);
  t.equal(await post(endless()), 400);
});

t.test('a sink that fails does not cost the client its answer', async (t) => {
  const app = await httpApp(t, [
    takes('PUT', '/put', async (context) => {
      const body = bodyStream(context.request);
      await once(body, 'readable');
      body.destroy();
      throw tooLarge('the store is full');
    }),
    takes('PUT', '/echo', async (context) => context.json(200, await readBytes(bodyStream(context.request), 100))),
  ]);
  const client = dial(app.port);
  client.socket.write(`PUT /put HTTP/1.1\r\nhost: x\r\ncontent-length: ${8 * MIB}\r\n\r\n`);
  await pour(client.socket, 8 * MIB);
  t.match(await client.answer, /^HTTP\/1\.1 400 .*the store is full/s);
  const echo = await fetch(`${app.url}/echo`, { method: 'PUT', body: 'abc' });
  t.same(await echo.json(), Buffer.from('abc').toJSON());
});

t.test('a client that sends a part of its body and then nothing is cut off', async (t) => {
  let taken = false;
  const failure = Promise.withResolvers<unknown>();
  const slow = takes('POST', '/slow', async (context) => {
    taken = true;
    await readBytes(context.request, 100).catch(failure.resolve);
  });
  const app = await httpApp(t, [slow], { limits: { idleTimeoutMs: 30 } });
  // On a machine that stalls it may be cut off before it was heard.
  while (!taken) {
    const client = dial(app.port);
    client.socket.write('POST /slow HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n12345');
    t.equal(await client.answer, '');
  }
  t.ok(await failure.promise);
});

t.test('a handler that works longer than a connection may rest or stand still is no idle client', async (t) => {
  const app = await httpApp(
    t,
    [
      route('/quick', 'open', async (context) => context.json(200, 'at once')),
      route('/work', 'open', async (context) => {
        // The idle time passes; the connection must outlive it.
        await once(context.request.socket, 'timeout');
        await context.json(200, 'done');
      }),
    ],
    { limits: { idleTimeoutMs: LONGER_THAN_A_STALL_MS, keepAliveTimeoutMs: 1_000 } },
  );
  const client = dial(app.port);
  client.socket.write('GET /quick HTTP/1.1\r\nhost: x\r\n\r\n');
  await once(client.socket, 'data');
  client.socket.write('GET /work HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  t.match(await client.answer, /"at once".*"done"$/s);
});

t.test('a connection that rests is closed after the time that its client was told', async (t) => {
  const routes = [route('/x', 'open', async (context) => context.json(200, 'answered'))];
  const app = await httpApp(t, routes, { limits: { keepAliveTimeoutMs: 1_000 } });
  const client = dial(app.port);
  client.socket.write('GET /x HTTP/1.1\r\nhost: x\r\n\r\n');
  t.match(await client.answer, /keep-alive: timeout=1\r\n.*"answered"$/is);
});

t.test('every answer that keeps its connection tells for how long', async (t) => {
  const app = await httpApp(t, [
    route('/whole', 'open', async (context) => context.json(200, 1)),
    route('/streamed', 'open', async (context) =>
      context.textStream({ 'content-type': 'text/plain' }, Readable.from(['a', 'b'])),
    ),
    refuses('/refused'),
  ]);
  for (const [path, method] of [
    ['/whole', 'GET'],
    ['/streamed', 'GET'],
    ['/refused', 'POST'],
    ['/nowhere', 'GET'],
  ] as const) {
    const { headers, body } = await request(`${app.url}${path}`, { method });
    await body.dump();
    t.equal(headers['keep-alive'], 'timeout=5', path);
  }
  t.notMatch(await raw(app.port, 'GET /whole HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'), /keep-alive/i);
});

t.test('a client that does not read its answer is cut off', async (t) => {
  const over = Promise.withResolvers<void>();
  const app = await httpApp(
    t,
    [
      route('/flood', 'open', async (context) => {
        context.response.once('close', over.resolve);
        const flood = async function* (): AsyncGenerator<string> {
          for (;;) yield 'x'.repeat(MIB);
        };
        await context.textStream({ 'content-type': 'text/plain' }, flood());
      }),
    ],
    { limits: { idleTimeoutMs: LONGER_THAN_A_STALL_MS } },
  );
  const client = dial(app.port);
  client.socket.pause();
  client.socket.write('GET /flood HTTP/1.1\r\nhost: x\r\n\r\n');
  await over.promise;
  client.socket.destroy();
  t.pass('the flood ended');
});

t.test('a client that is slow with its head, or says nothing, is cut off', async (t) => {
  const app = await httpApp(t, [], { limits: { headerTimeoutMs: 40 } });
  const silent = dial(app.port);
  const slow = dial(app.port);
  slow.socket.write('GET /x HTTP/1.1\r\nhost: x\r\n');
  t.match(await slow.answer, /^(HTTP\/1\.1 408 .*"status":"bad-request".*)?$/s);
  await silent.answer;
});

t.test('bytes that are no request are refused in the form of the contract', async (t) => {
  const app = await httpApp(t, [route('/x', 'open', async (context) => context.json(200, 1))]);
  const cases: Record<string, [head: string, code: number]> = {
    'large head': [`GET /x HTTP/1.1\r\nhost: x\r\nx-big: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
    'many headers': [`GET /x HTTP/1.1\r\nhost: x\r\n${'a: b\r\n'.repeat(4_000)}\r\n`, 431],
    'no colon': ['GET /x HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n', 400],
    'bare CR': ['GET /x HTTP/1.1\r\nhost: x\r\na: b\rc: d\r\n\r\n', 400],
    'NUL in a header': ['GET /x HTTP/1.1\r\nhost: x\r\na: \0\r\n\r\n', 400],
    'two lengths': ['POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n', 400],
    'length and chunks': [
      'POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    'no host': ['GET /x HTTP/1.1\r\nconnection: close\r\n\r\n', 400],
    'two hosts': ['GET /x HTTP/1.1\r\nhost: x\r\nHOST: y\r\nconnection: close\r\n\r\n', 400],
    'a secret protocol': ['\x16\x03\x01\x02\x00\x01\x00', 400],
  };
  for (const [what, [head, code]] of Object.entries(cases)) {
    const answer = await raw(app.port, head);
    t.match(answer, new RegExp(`^HTTP/1\\.1 ${code} `), what);
    t.match(answer, /x-request-id: [0-9a-f-]{36}/i, what);
    t.match(answer, /\{"status":"bad-request","message":"[^"]+"\}$/, what);
  }
});

t.test('a proxy may send the whole URL as the request target', async (t) => {
  const app = await httpApp(t, [route('/x', 'open', async (context) => context.json(200, 'found'))]);
  const answer = await raw(app.port, 'GET http://x.example/x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  t.match(answer, /^HTTP\/1\.1 200 .*"found"$/s);
});

t.test('a handler cannot split the head of its answer', async (t) => {
  const app = await httpApp(t, [
    route('/split', 'open', async (context) => context.json(200, 1, { location: 'a\r\nset-cookie: evil' })),
  ]);
  const response = await fetch(`${app.url}/split`);
  t.equal(response.status, 500);
  t.equal(response.headers.get('set-cookie'), null);
});

t.test('a handler that forgets to answer is a defect, not a request that hangs', async (t) => {
  const app = await httpApp(t, [route('/mute', 'open', async () => undefined)]);
  t.equal((await fetch(`${app.url}/mute`)).status, 500);
});

t.test('stop waits until the last byte of an answer is delivered', async (t) => {
  const app = await httpApp(t, [
    route('/big', 'open', async (context) => context.text(200, 'text/plain', 'x'.repeat(30 * MIB))),
  ]);
  const agent = new Agent({ pipelining: 1 });
  t.teardown(() => agent.close());
  const { body } = await request(`${app.url}/big`, { dispatcher: agent });
  await once(body, 'readable');
  const stopped = app.server.stop(systemClock.now() + 20_000);
  let bytes = 0;
  for await (const chunk of body) bytes += (chunk as Buffer).length;
  t.equal(bytes, 30 * MIB);
  await stopped;
});

t.test('stop gives up what is under way at its deadline', async (t) => {
  const reason = Promise.withResolvers<unknown>();
  const entered = Promise.withResolvers<void>();
  const app = await httpApp(t, [
    route('/stuck', 'open', async ({ signal }) => {
      signal.addEventListener('abort', () => reason.resolve(signal.reason));
      entered.resolve();
      await once(signal, 'abort');
      throw signal.reason;
    }),
  ]);
  const answer = fetch(`${app.url}/stuck`);
  await entered.promise;
  await app.server.stop(systemClock.now() + 60);
  t.match(await reason.promise, aborted('shutdown'));
  const { status, headers } = await answer;
  t.same([status, headers.get('retry-after')], [503, '10']);
  await t.rejects(fetch(`${app.url}/stuck`));
});

t.test('kill cuts everything off', async (t) => {
  const entered = Promise.withResolvers<void>();
  const app = await httpApp(t, [
    route('/stuck', 'open', async ({ signal }) => {
      entered.resolve();
      await once(signal, 'abort');
      throw signal.reason;
    }),
  ]);
  const answer = fetch(`${app.url}/stuck`);
  await entered.promise;
  app.server.kill();
  await t.rejects(answer);
});

t.test('a port in use is a transient failure that names it', async (t: Test) => {
  const app = await httpApp(t, []);
  const limits = {
    ...{ maxHeaderSize: 1, maxConnections: 1, connectionsPerAddress: 1, maxPipelined: 1, maxUnsentSize: 1 },
    ...{ minTransferRate: 1, handshakeTimeoutMs: 1, headerTimeoutMs: 1, idleTimeoutMs: 1, keepAliveTimeoutMs: 1 },
  };
  const second = new HttpServer({
    name: 'second',
    clock: systemClock,
    log: silentLogger(),
    host: '127.0.0.1',
    port: app.port,
    isProxy: () => false,
    metrics: { cut: () => undefined },
    limits,
    pipeline: app.pipeline,
  });
  await t.rejects(second.start(new AbortController().signal), {
    kind: 'transient',
    message: `second: cannot listen on 127.0.0.1:${app.port} (EADDRINUSE)`,
  });
});
