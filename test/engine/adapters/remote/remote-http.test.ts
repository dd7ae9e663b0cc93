import type { LookupAddress } from 'node:dns';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import {
  RemoteHttp,
  type RemoteHttpOptions,
  type RemoteHttpParts,
} from '../../../../engine/adapters/remote/remote-http.ts';
import { aborted } from '../../../../engine/runtime/failure.ts';
import { type Clock, systemClock } from '../../../../engine/runtime/time.ts';
import { LOOPBACK, type RemoteAnswer, remoteServer } from '../../../support/remote-server.ts';

const signal = new AbortController().signal;
const OPTIONS: RemoteHttpOptions = {
  allow: [LOOPBACK],
  ports: [80, 443],
  maxRedirects: 5,
  connectMs: 10_000,
  idleMs: 60_000,
};

function remote(t: Test, options: Partial<RemoteHttpOptions> = {}, parts: RemoteHttpParts = {}): RemoteHttp {
  const made = new RemoteHttp({ ...OPTIONS, ...options }, parts);
  t.teardown(() => made[Symbol.asyncDispose]());
  return made;
}

/** Answers each path with its own function. */
const routes =
  (answers: Readonly<Record<string, RemoteAnswer>>): RemoteAnswer =>
  (request, response) => {
    const answer = answers[new URL(request.url ?? '', 'http://x').pathname];
    if (answer) answer(request, response);
    else response.writeHead(404).end('no');
  };
const redirect =
  (location: string, status = 302): RemoteAnswer =>
  (_request, response) => {
    response.writeHead(status, { location }).end('moved');
  };
const text =
  (content: string | Buffer, headers: Record<string, string> = {}): RemoteAnswer =>
  (_request, response) => {
    response.writeHead(200, headers).end(content);
  };

async function opened(from: RemoteHttp, url: URL, until = signal) {
  const found = await from.fetch(url, until);
  if (found.kind !== 'found') throw new Error(`${url.href} was not found`);
  return found;
}

async function fetched(from: RemoteHttp, url: URL): Promise<object> {
  const { fileName, size, body } = await opened(from, url);
  return { fileName, size, content: (await buffer(body)).toString() };
}

t.test('fetches a file with its name and size, and asks for it as it is', async (t) => {
  const headers: object[] = [];
  const server = await remoteServer(t, (request, response) => {
    headers.push(request.headers);
    response.writeHead(200, { 'content-length': '5', 'content-disposition': 'attachment; filename="b.txt"' });
    response.end('genes');
  });
  const client = remote(t);
  t.strictSame(await fetched(client, server.url('/a.txt?x=1')), { fileName: 'b.txt', size: 5, content: 'genes' });
  t.strictSame(server.asked, ['/a.txt?x=1']);
  t.strictSame(headers, [
    {
      accept: '*/*',
      'accept-encoding': 'identity',
      connection: 'close',
      host: `127.0.0.1:${server.port}`,
      'user-agent': 'longshore',
    },
  ]);
});

t.test('a probe hangs up after the first byte', async (t) => {
  const closed = Promise.withResolvers<void>();
  const server = await remoteServer(t, (_request, response) => {
    response.on('close', closed.resolve);
    response.writeHead(200, { 'content-length': '1000000000' });
    response.write('x');
  });
  t.strictSame(await remote(t).probe(server.url('/big.txt'), signal), {
    kind: 'found',
    fileName: 'big.txt',
    size: 1_000_000_000,
  });
  await closed.promise;
});

t.test('follows redirects of every kind, five of them, and takes the name of the last', async (t) => {
  const server = await remoteServer(
    t,
    routes({
      '/5': redirect('/4', 301),
      '/4': redirect('3', 302),
      '/3': redirect('./2?a=b', 303),
      '/2': redirect('/1', 307),
      '/1': redirect('/genes.txt', 308),
      '/genes.txt': text('x'),
      '/6': redirect('/5'),
      '/loop': redirect('/loop'),
      '/nowhere': redirect('http://'),
      '/silent': (_request, response) => void response.writeHead(302).end(),
    }),
  );
  const client = remote(t);
  t.strictSame(await fetched(client, server.url('/5')), { fileName: 'genes.txt', size: undefined, content: 'x' });
  t.strictSame(server.asked.splice(0), ['/5', '/4', '/3', '/2?a=b', '/1', '/genes.txt']);
  for (const [path, said, times] of [
    ['/6', 'redirects more than 5 times', 6],
    ['/loop', 'redirects more than 5 times', 6],
    ['/nowhere', 'redirects to an invalid URL', 1],
    ['/silent', 'answered 302 (Found)', 1],
  ] as const) {
    const message = `${server.url(path).href} ${said}`;
    t.strictSame(await client.fetch(server.url(path), signal), { kind: 'failed', message, again: false });
    t.equal(server.asked.splice(0).length, times, path);
  }
});

t.test('a redirect leads nowhere that the URL itself must not lead', async (t) => {
  const inside = await remoteServer(t, text('secret'), '127.0.0.2');
  const server = await remoteServer(
    t,
    routes({
      '/inside': redirect(inside.url('/').href),
      '/private': redirect('http://10.0.0.1/'),
      '/metadata': redirect('http://169.254.169.254/latest/meta-data/'),
      '/mapped': redirect(`http://[::ffff:127.0.0.2]:${inside.port}/`),
      '/file': redirect('file:///etc/passwd'),
      '/ftp': redirect('ftp://example.org/a.txt'),
      '/data': redirect('data:text/plain,x'),
      '/user': redirect('http://me@example.org/'),
    }),
  );
  const client = remote(t);
  const unreachable = (host: string): string =>
    `leads to ${host}, which is not on the public internet at one of the ports 80, 443, and not allowed by restService.urlUploads.allow`;
  for (const [path, reason] of [
    ['/inside', unreachable('127.0.0.2')],
    ['/private', unreachable('10.0.0.1')],
    ['/metadata', unreachable('169.254.169.254')],
    ['/mapped', unreachable('::ffff:7f00:2')],
    ['/file', 'redirects to one that starts with file:; only http and https are allowed'],
    ['/ftp', 'redirects to one that starts with ftp:; only http and https are allowed'],
    ['/data', 'redirects to one that starts with data:; only http and https are allowed'],
    ['/user', 'redirects to one that contains a user name or password, which is not allowed'],
  ] as const)
    t.strictSame(await client.fetch(server.url(path), signal), { kind: 'refused', reason }, path);
  t.strictSame(inside.asked, []);
});

t.test('refuses addresses that are not public, however they are written, and connects to none', async (t) => {
  const server = await remoteServer(t, text('secret'));
  const client = remote(t, { allow: [] });
  for (const host of [
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '127.1',
    '127.0.0.1.',
    '%31%32%37.0.0.1',
    '①②⑦.0.0.1',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[::1]',
    '[64:ff9b::127.0.0.1]',
    '[2002:7f00:1::]',
    '0',
    'localhost',
  ])
    t.match(await client.fetch(new URL(`http://${host}:${server.port}/`), signal), { kind: 'refused' }, host);
  t.strictSame(server.asked, []);
});

t.test('a name is refused for any of its addresses, and connected to where it was checked', async (t) => {
  const server = await remoteServer(t, text('x'));
  const at = (address: string): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 });
  const named = (name: string): URL => new URL(`http://${name}:${server.port}/a.txt`);
  const refused = {
    kind: 'refused',
    reason:
      'leads to data.example, which is not on the public internet at one of the ports 80, 443, and not allowed by restService.urlUploads.allow',
  };
  for (const addresses of [['127.0.0.1'], ['::1'], ['8.8.8.8', '127.0.0.1'], ['::ffff:127.0.0.1']]) {
    const client = remote(t, { allow: [] }, { resolve: async () => addresses.map(at) });
    t.strictSame(await client.fetch(named('data.example'), signal), refused, addresses.join());
  }
  t.strictSame(server.asked, []);

  // A name that says something else each time it is asked.
  const answers = ['127.0.0.1', '127.0.0.2'];
  const client = remote(t, {}, { resolve: async () => [at(answers.shift() ?? '')] });
  t.match(await fetched(client, named('data.example')), { content: 'x' });
  t.strictSame(answers, ['127.0.0.2'], 'it was asked once');
  t.strictSame(await client.fetch(named('data.example'), signal), refused, 'and again for the next connection');
});

t.test('the URL itself holds no user and no other scheme', async (t) => {
  const client = remote(t);
  for (const [url, reason] of [
    ['http://me:secret@example.org/', 'contains a user name or password, which is not allowed'],
    ['http://:secret@example.org/', 'contains a user name or password, which is not allowed'],
    ['ftp://example.org/a.txt', 'starts with ftp:; only http and https are allowed'],
  ] as const)
    t.strictSame(await client.fetch(new URL(url), signal), { kind: 'refused', reason });
});

t.test('no file without a success status and a byte, and whether it is worth another try', async (t) => {
  const server = await remoteServer(t, (request, response) => {
    const status = Number(/\d+/.exec(request.url ?? '')?.[0]);
    response.writeHead(status).end(status < 300 ? '' : 'some text');
  });
  const client = remote(t);
  for (const [status, said, again] of [
    [200, 'answered with an empty body', false],
    [204, 'answered 204 (No Content): only 200 means that the whole file follows', false],
    [304, 'answered 304 (Not Modified)', false],
    [401, 'answered 401 (Unauthorized)', false],
    [403, 'answered 403 (Forbidden)', false],
    [404, 'answered 404 (Not Found)', false],
    [408, 'answered 408 (Request Timeout)', true],
    [410, 'answered 410 (Gone)', false],
    [429, 'answered 429 (Too Many Requests)', true],
    [500, 'answered 500 (Internal Server Error)', true],
    [503, 'answered 503 (Service Unavailable)', true],
  ] as const) {
    const url = server.url(`/${status}`);
    t.strictSame(await client.probe(url, signal), { kind: 'failed', message: `${url.href} ${said}`, again });
  }
});

t.test('only 200 brings a file, or 206 with all of it', async (t) => {
  const parts: Readonly<Record<string, [status: number, range: string | undefined, refusal: RegExp | undefined]>> = {
    'all of it': [206, 'bytes 0-8/9', undefined],
    'the beginning': [206, 'bytes 0-3/9', /answered 206 .*a part of the file \(Content-Range: bytes 0-3\/9\)/],
    'the end': [206, 'bytes 1-8/9', /a part of the file/],
    'of a length that is not said': [206, 'bytes 0-8/*', /a part of the file/],
    'no range': [206, undefined, /Content-Range: none/],
    'no bytes': [206, 'lines 0-8/9', /a part of the file/],
    'not ready': [202, undefined, /answered 202 \(Accepted\): the file is not ready yet/],
    created: [201, undefined, /answered 201 \(Created\): only 200 means/],
    changed: [203, undefined, /answered 203 .*: only 200 means/],
    'reset content': [205, undefined, /answered 205 .*: only 200 means/],
    'several files': [207, undefined, /answered 207 .*: only 200 means/],
    'a difference': [226, undefined, /answered 226 .*: only 200 means/],
  };
  const server = await remoteServer(t, (request, response) => {
    const [status, range] = parts[decodeURIComponent(request.url ?? '').slice(1)] ?? [404, undefined];
    response.writeHead(status, range === undefined ? {} : { 'content-range': range }).end('G1,G2,G3\n');
  });
  const client = remote(t);
  for (const [what, [status, , refusal]] of Object.entries(parts)) {
    const url = server.url(`/${encodeURIComponent(what)}`);
    const found = await client.probe(url, signal);
    if (refusal === undefined) t.match(found, { kind: 'found' }, what);
    else t.match(found, { kind: 'failed', message: refusal, again: status === 202 }, what);
  }
});

t.test('of parts of a file, none but the one that is all of it is taken', async (t) => {
  const part = fc.record({
    first: fc.nat(12),
    last: fc.nat(12),
    total: fc.oneof(fc.nat(12).map(String), fc.constant('*')),
  });
  const server = await remoteServer(t, (request, response) => {
    const range = decodeURIComponent(request.url ?? '').slice(1);
    response.writeHead(206, { 'content-range': `bytes ${range}` }).end('G1,G2,G3\n');
  });
  const client = remote(t);
  const property = fc.asyncProperty(part, async ({ first, last, total }) => {
    const range = `${first}-${last}/${total}`;
    const { kind } = await client.probe(server.url(`/${encodeURIComponent(range)}`), signal);
    t.equal(kind, first === 0 && total === String(last + 1) ? 'found' : 'failed', range);
  });
  await fc.assert(property, { numRuns: 60, seed: 20_260_102, examples: [[{ first: 0, last: 8, total: '9' }]] });
});

t.test('a signed link that has expired is told by its query; no message holds the query', async (t) => {
  const server = await remoteServer(t, (_request, response) => void response.writeHead(403).end());
  const client = remote(t);
  const said = `${server.url('/a.txt').href} answered 403 (Forbidden)`;
  const hinted = `${said}; this looks like a signed link that has expired: create a new one`;
  for (const [query, message] of [
    ['?Expires=1700000000&Signature=s&Key-Pair-Id=k', hinted],
    ['?X-Amz-Date=20260101T000000Z&X-Amz-Expires=60&X-Amz-Signature=s', hinted],
    ['?X-Goog-Date=20260101T000000Z&X-Goog-Expires=60', hinted],
    ['?sv=2024-01-01&se=2026-01-01T00%3A00%3A00Z&sig=s', hinted],
    ['?X-Amz-Expires=60', said],
    ['?x=se', said],
    ['', said],
  ] as const)
    t.strictSame(await client.probe(server.url(`/a.txt${query}`), signal), { kind: 'failed', message, again: false });
});

t.test('content that comes encoded all the same', async (t) => {
  const zipped = gzipSync('genes');
  const server = await remoteServer(
    t,
    routes({
      '/a.txt': text(zipped, { 'content-encoding': 'gzip', 'content-length': String(zipped.length) }),
      '/a.csv': text(zipped, { 'content-encoding': 'X-GZIP' }),
      '/a.tgz': text(zipped, { 'content-encoding': 'gzip', 'content-length': String(zipped.length) }),
      '/plain.txt': text('genes', { 'content-encoding': 'identity' }),
      '/b.txt': text('x', { 'content-encoding': 'br' }),
      '/twice.txt': text('x', { 'content-encoding': 'gzip, gzip' }),
      '/cut.txt': text(zipped.subarray(0, 9), { 'content-encoding': 'gzip' }),
      '/none.txt': text(gzipSync(''), { 'content-encoding': 'gzip' }),
    }),
  );
  const client = remote(t);
  const content = async (path: string): Promise<unknown> => {
    const found = await client.fetch(server.url(path), signal);
    return found.kind === 'found' ? { size: found.size, bytes: await buffer(found.body) } : found;
  };
  const plain = { size: undefined, bytes: Buffer.from('genes') };
  for (const [path, expected] of [
    ['/a.txt', plain],
    ['/a.csv', plain],
    ['/a.tgz', { size: zipped.length, bytes: zipped }],
    ['/plain.txt', plain],
  ] as const)
    t.strictSame(await content(path), expected, path);
  for (const [path, said, again] of [
    ['/b.txt', " sends its content as 'br', although identity was requested", false],
    ['/twice.txt', " sends its content as 'gzip, gzip', although identity was requested", false],
    ['/none.txt', ' answered with an empty body', false],
    ['/cut.txt', ': unexpected end of file', true],
  ] as const)
    t.strictSame(await content(path), { kind: 'failed', message: server.url(path).href + said, again });
});

t.test('what breaks off, stands still or is not there may be tried again', async (t) => {
  const server = await remoteServer(
    t,
    routes({
      '/cut.txt': (_request, response) => {
        response.writeHead(200, { 'content-length': '100' });
        response.write('0123456789', () => response.destroy());
      },
      '/still.txt': (_request, response) => {
        response.writeHead(200);
        response.write('x');
      },
      '/headless.txt': () => undefined,
    }),
  );
  const client = remote(t, { idleMs: 100 });
  for (const [path, message] of [
    ['/cut.txt', / broke off: /],
    ['/still.txt', / broke off: Body Timeout Error/],
  ] as const) {
    let found = await client.fetch(server.url(path), signal);
    // On a machine that stalls the head may be late, too.
    while (found.kind !== 'found') found = await client.fetch(server.url(path), signal);
    await t.rejects(buffer(found.body), { kind: 'transient', message });
  }
  t.match(await client.fetch(server.url('/headless.txt'), signal), {
    kind: 'failed',
    message: /cannot be fetched: Headers Timeout Error/,
    again: true,
  });
  const slow = remote(t, { connectMs: 100 }, { resolve: () => new Promise(() => undefined) });
  t.match(await slow.fetch(new URL('http://data.example/'), signal), {
    kind: 'failed',
    message: /cannot be fetched: Connect Timeout Error/,
    again: true,
  });
  const gone = await remoteServer(t, text('x'));
  // It speaks plain HTTP.
  t.match(await client.fetch(new URL(`https://127.0.0.1:${gone.port}/`), signal), { kind: 'failed' });
});

t.test('what does not exist, what is inside and what is at another port are told alike', async (t) => {
  const notFound = Object.assign(new Error('getaddrinfo ENOTFOUND data.example'), { code: 'ENOTFOUND' });
  const told = async (address: string | undefined, url: string): Promise<unknown> => {
    const resolve = async () => (address === undefined ? Promise.reject(notFound) : [{ address, family: 4 }]);
    const answer = await remote(t, { allow: ['10.9.0.0/16'] }, { resolve }).fetch(new URL(url), signal);
    return JSON.parse(JSON.stringify(answer).replaceAll('8.8.8.8', 'data.example'));
  };
  const answers = [
    await told(undefined, 'http://data.example/a'),
    await told('10.0.0.7', 'http://data.example/a'),
    await told('10.0.0.7', 'https://data.example/a'),
    await told('8.8.8.8', 'http://data.example:5432/a'),
    await told('8.8.8.8', 'https://data.example:22/a'),
    await told('8.8.8.8', 'http://8.8.8.8:6379/a'),
  ];
  for (const answer of answers)
    t.strictSame(answer, {
      kind: 'refused',
      reason:
        'leads to data.example, which is not on the public internet at one of the ports 80, 443, and not allowed by ' +
        'restService.urlUploads.allow',
    });
});

t.test('a body that only drips is given up; one that flows is not, however long its reader takes', async (t) => {
  const server = await remoteServer(
    t,
    routes({
      '/drips.txt': (_request, response) => {
        response.writeHead(200);
        const drip = (): void => {
          if (!response.destroyed) response.write('x', () => setImmediate(drip));
        };
        drip();
      },
      '/flows.txt': text(Buffer.alloc(4 * 1024 * 1024)),
    }),
  );
  /** Moves on each time it is read, so twice per chunk. */
  const clock = (stepMs: number): Clock => {
    let now = 0;
    return { ...systemClock, now: () => (now += stepMs) };
  };
  const impatient = remote(t, { idleMs: 60_000 }, { clock: clock(30_000) });
  const dripping = await opened(impatient, server.url('/drips.txt'));
  await t.rejects(buffer(dripping.body), { kind: 'transient', message: /broke off: only \d+ bytes in 60000 ms/ });

  const patient = remote(t, { idleMs: 60_000 }, { clock: clock(3_000) });
  const flowing = await opened(patient, server.url('/flows.txt'));
  t.equal((await buffer(flowing.body)).length, 4 * 1024 * 1024);
});

t.test('ends with its signal, at any moment', async (t) => {
  const reached = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const server = await remoteServer(
    t,
    routes({
      '/headless.txt': () => reached[0].resolve(),
      '/still.txt': (_request, response) => {
        response.writeHead(200);
        response.write('x', () => reached[1].resolve());
      },
    }),
  );
  const client = remote(t);
  const stop = new AbortController();
  const waiting = client.fetch(server.url('/headless.txt'), stop.signal);
  await reached[0].promise;
  stop.abort(aborted('shutdown'));
  await t.rejects(waiting, { kind: 'aborted', message: 'shutdown' });

  const later = new AbortController();
  const found = await opened(client, server.url('/still.txt'), later.signal);
  await reached[1].promise;
  const reading = buffer(found.body);
  later.abort(aborted('lease lost'));
  await t.rejects(reading, { kind: 'aborted', message: 'lease lost' });
});

t.test('a body that is destroyed ends its connection at once, although a chunk is awaited', async (t) => {
  const closed = Promise.withResolvers<void>();
  const server = await remoteServer(t, (_request, response) => {
    response.on('close', closed.resolve);
    response.writeHead(200);
    response.write('x');
  });
  const found = await opened(remote(t), server.url('/a.txt'));
  const chunks = found.body[Symbol.asyncIterator]();
  t.strictSame((await chunks.next()).value, Buffer.from('x'));
  found.body.destroy();
  await closed.promise;
});

t.test('no proxy of the environment is asked', async (t) => {
  const proxy = await remoteServer(t, text('from the proxy'));
  const server = await remoteServer(t, text('from the server'));
  const names = ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'];
  const before = names.map((name) => process.env[name]);
  t.teardown(() => {
    for (const [i, name] of names.entries())
      if (before[i] === undefined) delete process.env[name];
      else process.env[name] = before[i];
  });
  for (const name of names) process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : proxy.url('').href;
  t.match(await fetched(remote(t), server.url('/')), { content: 'from the server' });
  t.strictSame(proxy.asked, []);
});
