// Answers of S3 stores and of what stands before them, from a server that says what it is told to: what each means, and
// what is asked again.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { S3_TIMES, type S3Times } from '../../../../engine/adapters/s3/s3-call.ts';
import { S3Store } from '../../../../engine/adapters/s3/s3-store.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';

const signal = new AbortController().signal;
const MIB = 1024 * 1024;
type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** The store on a server that answers with `answer`; `asked` has every request line. */
async function setup(t: Test, answer: Answer, times: Partial<S3Times> = {}) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no TCP port');
  const keys = { accessKey: 'planted-access', secretKey: 'planted-secret' };
  const store = new S3Store(
    { host: '127.0.0.1', port: address.port, bucket: 'bucket', ...keys, tls: undefined, region: 'eu', pathStyle: true },
    { log: silentLogger(), times: { ...S3_TIMES, ...times } },
  );
  t.teardown(() => store[Symbol.dispose]());
  return { store, asked };
}

const says =
  (status: number, body = ''): Answer =>
  (request, response) => {
    request.resume();
    request.once('end', () => response.writeHead(status).end(body));
  };
/** An object of one byte, as a head, or nothing else. */
const headOf = (request: IncomingMessage, etag = '"e"'): Record<string, string> => ({
  ...{ etag, 'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT' },
  ...(request.method === 'PUT' ? {} : { 'content-length': '1' }),
});
const fault = (code: string): string => `<?xml version="1.0"?><Error><Code>${code}</Code><Message>m</Message></Error>`;

t.test('what an answer means', async (t) => {
  const away = { kind: 'transient', unreachable: true };
  const tried = { kind: 'transient', unreachable: false };
  const cases: readonly (readonly [number, string, object, RegExp])[] = [
    [503, fault('SlowDown'), away, /busy or away/],
    [503, 'down for maintenance', away, /busy or away \(HTTP 503\)/],
    [502, '<html>bad gateway</html>', away, /busy or away/],
    [504, '', away, /busy or away/],
    [429, '', away, /busy or away/],
    [500, fault('InternalError'), tried, /the store failed \(HTTP 500\)/],
    [401, '', away, /refuses access/],
    [403, fault('RequestTimeTooSkewed'), away, /clock and that of this machine differ/],
    [403, fault('QuotaExceeded'), away, /quota is used up/],
    [400, fault('AuthorizationHeaderMalformed'), away, /another region; set region/],
    [301, fault('PermanentRedirect'), away, /check server and region/],
    [507, fault('XMinioStorageFull'), away, /it is full/],
    [404, '<html>no such page</html>', away, /404 as no S3 store does/],
    [400, fault('InvalidArgument'), { kind: 'defect' }, /refuses it \(InvalidArgument\)/],
    [405, fault('MethodNotAllowed'), { kind: 'defect' }, /refuses it \(MethodNotAllowed\)/],
  ];
  for (const [status, body, kind, message] of cases) {
    const { store } = await setup(t, says(status, body));
    const name = `${status} ${body.slice(0, 60)}`;
    await t.rejects(store.get('1/a/x', undefined, signal), { ...kind, message }, `get: ${name}`);
    await t.rejects(store.put('1/a/x', Buffer.from('x'), {}, signal), { ...kind, message }, `put: ${name}`);
    await t.rejects(store.probe(signal), { kind: 'transient', message: /bucket bucket: / }, `probe: ${name}`);
  }
});

t.test('the answer to a long body may come before its end', async (t) => {
  const { store } = await setup(t, (_request, response) => response.writeHead(403).end(fault('AccessDenied')));
  for (const size of [200 * MIB, undefined]) {
    const source = Readable.from(
      (function* () {
        for (let i = 0; i < 200; i++) yield Buffer.alloc(MIB);
      })(),
    );
    const put = store.put('1/a/x', source, size === undefined ? {} : { size }, signal);
    // A connection that is closed under what is still being sent may lose the answer.
    await t.rejects(put, { kind: 'transient', unreachable: true, message: /AccessDenied|cut off/ });
    t.ok(source.destroyed);
  }
});

t.test('a listing that is none ends in a failure, not in an absence', async (t) => {
  const page = (inner: string): string => `<ListBucketResult>${inner}</ListBucketResult>`;
  const one = `<Contents><Key>1/a</Key><LastModified>2026-01-01T00:00:00.5Z</LastModified><ETag>"e"</ETag><Size>1</Size></Contents>`;
  const cases: readonly (readonly [string, { readonly kind: string; readonly message: RegExp }])[] = [
    ['<html>log in first</html>', { kind: 'transient', message: /is not a listing; check server/ }],
    ['<ListBucketResult><IsTruncated>false</IsTruncated>', { kind: 'transient', message: /is not a listing/ }],
    [page('<IsTruncated>true</IsTruncated>'), { kind: 'transient', message: /empty page that is not the last/ }],
    [page(`<IsTruncated>true</IsTruncated>${one}`), { kind: 'defect', message: /is that page again/ }],
    [page('<Contents><Key>1/a</Key></Contents>'), { kind: 'transient', message: /an object without Size/ }],
  ];
  for (const [body, failure] of cases) {
    const { store } = await setup(t, says(200, body));
    await t.rejects(Array.fromAsync(store.list('', {}, signal)), failure, body);
  }
  const { store } = await setup(t, says(200, page(`<IsTruncated>false</IsTruncated>${one}`)));
  t.strictSame(await Array.fromAsync(store.list('', {}, signal)), [
    { key: '1/a', size: 1, etag: 'e', modified: new Date('2026-01-01T00:00:00Z') },
  ]);
});

t.test('keys of a listing, whichever way they are encoded', async (t) => {
  const rest = `<LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&#34;e-2&#34;</ETag><Size>1</Size>`;
  const listed = async (encoding: string, key: string) => {
    const xml = `<ListBucketResult>${encoding}<Contents><Key>${key}</Key>${rest}</Contents></ListBucketResult>`;
    const { store } = await setup(t, says(200, xml));
    return Array.fromAsync(store.list('', {}, signal));
  };
  const url = '<EncodingType>url</EncodingType>';
  t.match(await listed(url, '1%2Fa+b%2B%C3%A4'), [{ key: '1/a b+ä', etag: 'e-2' }]);
  t.match(await listed(url, '1/a&apos;b%26amp;'), [{ key: "1/a'b&amp;" }]);
  t.match(await listed('', '1/a+b%2B&lt;&#x41;&amp;amp;'), [{ key: '1/a+b%2B<A&amp;' }]);
  t.match(await listed(url, '1%2F%FF'), [{ key: '1/\ufffd' }], 'what is no UTF-8 is shown somehow');
});

t.test('pages follow each other by the last key, byte by byte', async (t) => {
  const rest = '<LastModified>2026-01-01T00:00:00Z</LastModified><ETag>"e"</ETag><Size>1</Size>';
  const keys = ['a%20b', 'a%FF%2F(x)', 'z'];
  const { store, asked } = await setup(t, (request, response) => {
    const after = new URLSearchParams(request.url?.split('?')[1] ?? '').get('start-after');
    const at = after === null ? 0 : after === 'a b' ? 1 : 2;
    const truncated = `<IsTruncated>${at < 2}</IsTruncated>`;
    const content = `<Contents><Key>${keys[at]}</Key>${rest}</Contents>`;
    response.end(`<ListBucketResult><EncodingType>url</EncodingType>${truncated}${content}</ListBucketResult>`);
  });
  t.equal((await Array.fromAsync(store.list('a/', {}, signal))).length, 3);
  const query = 'GET /bucket?encoding-type=url&list-type=2&max-keys=1000&prefix=a%2F';
  t.strictSame(asked, [query, `${query}&start-after=a%20b`, `${query}&start-after=a%FF%2F%28x%29`]);
});

t.test('a connection that was closed while it was idle is no failure, and is tried once', async (t) => {
  let kept = 0;
  const { store, asked } = await setup(t, (request, response) => {
    // The second request on a connection finds it closed.
    if (kept++ % 2 === 1) return void request.socket.destroy();
    request.resume();
    request.once('end', () => response.writeHead(200, headOf(request)).end());
  });
  for (const _ of ['first', 'second']) t.match(await store.head('1/a/x', signal), { size: 1 });
  t.equal(asked.length, 3);
});

t.test('a body that is shorter than its head said', async (t) => {
  const { store } = await setup(t, (request, response) => {
    response.writeHead(200, { ...headOf(request), 'content-length': '10' });
    response.write('half', () => response.destroy());
  });
  const opened = await store.get('1/a/x', undefined, signal);
  const failed = { kind: 'transient', unreachable: true, message: /reading 1\/a\/x: cut off/ };
  await t.rejects(buffer(opened?.body ?? Readable.from([])), failed);
});

t.test('an object that somebody else replaced before its head was read', async (t) => {
  const { store } = await setup(t, (request, response) => {
    request.resume();
    const etag = request.method === 'PUT' ? '"mine"' : '"theirs"';
    request.once('end', () => response.writeHead(200, headOf(request, etag)).end());
  });
  const put = store.put('1/a/x', Buffer.from('x'), {}, signal);
  await t.rejects(put, { kind: 'transient', message: /somebody else changed it at the same time/ });
});

t.test('an abort while the last of a put is under way waits for the end of it', async (t) => {
  const stop = new AbortController();
  const { store } = await setup(t, (request, response) => {
    request.resume();
    request.once('end', () => {
      if (request.method === 'PUT') stop.abort(new Error('enough'));
      response.writeHead(200, headOf(request)).end();
    });
  });
  t.match(await store.put('1/a/x', Buffer.from('x'), {}, stop.signal), { size: 1, etag: 'e' }, 'it is stored');
});

/** Objects `from`.. of a bucket of `count`, as a page that is longer than a read of the network. */
function listingOf(from: number, count: number): string {
  const entries = Array.from({ length: Math.min(1_000, count - from) }, (_, i) => {
    const rest = `<Size>${from + i}</Size><Owner><ID>${'o'.repeat(100)}</ID></Owner>`;
    const key = `1/a/raw/${String(from + i).padStart(6, '0')}`;
    const time = new Date(Date.UTC(2026, 0, 2) + (from + i) * 1_000).toISOString();
    return `<Contents><Key>${key}</Key><LastModified>${time}</LastModified><ETag>"e${from + i}"</ETag>${rest}</Contents>`;
  });
  const isTruncated = from + entries.length < count;
  return `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${entries.join('')}</ListBucketResult>`;
}

const placeIn = (url: string | undefined): number => {
  const after = new URL(url ?? '/', 'http://store').searchParams.get('start-after');
  return after === null ? 0 : Number(after.slice(-6)) + 1;
};

t.test('a page of a long listing is asked for when the one before was read', async (t) => {
  const { store, asked } = await setup(t, (request, response) => response.end(listingOf(placeIn(request.url), 4_500)));
  const found: unknown[] = [];
  for await (const page of store.pages('', {}, signal)) {
    t.equal(asked.length, found.length / 1_000 + 1);
    for (const { key, etag, size, modified } of page) found.push([key, etag, size, modified.getTime()]);
  }
  const wanted = Array.from({ length: 4_500 }, (_, n) => {
    return [`1/a/raw/${String(n).padStart(6, '0')}`, `e${n}`, n, Date.UTC(2026, 0, 2) + n * 1_000];
  });
  t.strictSame(found, wanted);
});

t.test('a page that is refused is asked for once more, and what that means is told', async (t) => {
  const failing = (times: number, body: string): Answer => {
    let refused = 0;
    return (request, response) => {
      const from = placeIn(request.url);
      if (from === 0 || refused++ >= times) response.end(listingOf(from, 1_500));
      else response.writeHead(503).end(body);
    };
  };
  const recovered = await setup(t, failing(1, fault('SlowDown')));
  t.equal((await Array.fromAsync(recovered.store.list('', {}, signal))).length, 1_500);
  t.equal(recovered.asked.length, 3);
  const lasting = await setup(t, failing(Number.POSITIVE_INFINITY, fault('SlowDown')));
  await t.rejects(Array.fromAsync(lasting.store.list('', {}, signal)), { kind: 'transient', message: /busy or away/ });
  t.equal(lasting.asked.length, 3);
});

t.test('a page that is cut off fails the listing', async (t) => {
  const { store } = await setup(t, (request, response) => {
    const page = listingOf(placeIn(request.url), 1_500);
    if (placeIn(request.url) === 0) return void response.end(page);
    response.writeHead(200, { 'content-length': page.length });
    response.write(page.slice(0, 100_000), () => response.destroy());
  });
  await t.rejects(Array.fromAsync(store.list('', {}, signal)), { kind: 'transient', message: /cut off/ });
});

t.test('several objects are put one after the other, up to the one that is refused', async (t) => {
  const { store, asked } = await setup(t, (request, response) => {
    if (request.url?.endsWith('/refused')) says(400, fault('InvalidArgument'))(request, response);
    else if (request.method === 'DELETE') says(204)(request, response);
    else request.resume().once('end', () => response.writeHead(200, headOf(request)).end());
  });
  const objectsOf = (...names: readonly string[]) =>
    names.map((name) => ({ key: `1/a/${name}`, source: Readable.from([Buffer.from('x')]), options: { size: 1 } }));
  const put = await store.putAll(objectsOf('z', 'y'), { alsoDurable: ['1/a/x'] }, signal);
  t.strictSame(
    put.map(({ key }) => key),
    ['1/a/z', '1/a/y'],
  );
  const [z, y, refused] = ['z', 'y', 'refused'].map((name) => `/bucket/1/a/${name}`);
  t.strictSame(asked.splice(0), [`PUT ${z}`, `HEAD ${z}`, `PUT ${y}`, `HEAD ${y}`]);

  const objects = objectsOf('z', 'refused', 'y');
  await t.rejects(store.putAll(objects, {}, signal), { kind: 'defect', message: /putting 1\/a\/refused/ });
  t.strictSame(asked.splice(0), [`PUT ${z}`, `HEAD ${z}`, `PUT ${refused}`]);
  t.ok(objects.every(({ source }) => source.destroyed));
  await t.rejects(store.putAll(objectsOf('z', 'z'), {}, signal), { kind: 'defect', message: /given twice/ });

  await store.discard(['1/a/z', '1/a/y', '1/a/z'], signal);
  t.strictSame(asked.splice(0), [`DELETE ${z}`, `DELETE ${y}`]);
});
