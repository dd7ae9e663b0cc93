import { once } from 'node:events';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { fetch } from 'undici';
import { type DownloadOptions, parseRange, sendObject } from '../../../../http/kernel/answers/download.ts';
import { FakeObjectStore } from '../../../fakes/fake-object-store.ts';
import { httpApp, route } from '../../http-app.ts';

const CONTENT = '0123456789';
const MODIFIED = new Date(Date.UTC(2026, 0, 1, 12, 0, 0, 789));

type Get = FakeObjectStore['get'];

async function setup(t: Test, options: Partial<DownloadOptions> = {}) {
  let get: Get = (...args) => store.get(...args);
  const store = new FakeObjectStore(() => MODIFIED.getTime());
  const signal = new AbortController().signal;
  const put = (text: string) => store.put('k', Buffer.from(text), {}, signal);
  await put(CONTENT);
  const app = await httpApp(t, [
    route('/file', 'open', (context) =>
      sendObject(
        context,
        { head: (...args) => store.head(...args), get: (...args) => get(...args) },
        {
          key: 'k',
          contentType: 'application/zip',
          fileName: 'a.zip',
          absent: 'no such file',
          ...options,
        },
      ),
    ),
  ]);
  const ask = async (headers: Record<string, string> = {}, method = 'GET') => {
    const response = await fetch(`${app.url}/file`, { method, headers });
    return {
      response,
      status: response.status,
      text: await response.text(),
      header: (name: string) => response.headers.get(name),
    };
  };
  const onGet = (other: Get): void => {
    get = other;
  };
  return { store, put, get: ask, app, signal, onGet };
}

t.test('a download says what it is', async (t) => {
  const { get } = await setup(t);
  const { status, text, header } = await get();
  t.same([status, text], [200, CONTENT]);
  const names = ['content-length', 'content-type', 'etag', 'last-modified', 'accept-ranges', 'content-disposition'];
  t.same(names.map(header), [
    '10',
    'application/zip',
    '"fake-1"',
    'Thu, 01 Jan 2026 12:00:00 GMT',
    'bytes',
    'attachment; filename=a.zip',
  ]);
  t.equal(header('x-content-type-options'), 'nosniff');
});

t.test('a download may be shown under its name, or say neither', async (t) => {
  for (const [attachment, told] of [
    [true, 'attachment; filename=a.zip'],
    [false, 'inline; filename=a.zip'],
    ['unsaid', null],
  ] as const) {
    const { get } = await setup(t, { attachment });
    const { text, header } = await get();
    t.same([text, header('content-disposition')], [CONTENT, told]);
  }
});

t.test('HEAD tells the same and opens nothing', async (t) => {
  const { get, store } = await setup(t);
  const calls: string[] = [];
  store.onCall = (method) => calls.push(method);
  const { status, text, header } = await get({}, 'HEAD');
  t.same([status, text, header('content-length'), header('etag')], [200, '', '10', '"fake-1"']);
  t.same(calls, ['head']);
  for (const range of ['bytes=2-4', 'bytes=10-']) {
    const asked = await get({ range }, 'HEAD');
    t.same([asked.status, asked.header('content-length'), asked.header('content-range')], [200, '10', null], range);
  }
});

t.test('a range is answered with its bytes, one outside the content with the size', async (t) => {
  const { get } = await setup(t);
  const part = await get({ range: 'bytes=2-4' });
  t.same(
    [part.status, part.text, part.header('content-range'), part.header('content-length')],
    [206, '234', 'bytes 2-4/10', '3'],
  );
  const outside = await get({ range: 'bytes=10-' });
  t.same([outside.status, outside.header('content-range')], [416, 'bytes */10']);
  t.match(JSON.parse(outside.text), { status: 'bad-request', message: /10 bytes/ });
  t.equal((await get({ range: 'bytes=0-1,4-5' })).text, CONTENT);
});

t.test('conditions are looked at in their order', async (t) => {
  const { get, put } = await setup(t);
  const date = 'Thu, 01 Jan 2026 12:00:00 GMT';
  const earlier = 'Thu, 01 Jan 2026 11:59:59 GMT';
  const rows: readonly (readonly [status: number, headers: Readonly<Record<string, string>>])[] = [
    [304, { 'if-none-match': '"x", W/"fake-1"' }],
    [304, { 'if-none-match': '*' }],
    [200, { 'if-none-match': '"x"', 'if-modified-since': date }],
    [304, { 'if-modified-since': date }],
    [200, { 'if-modified-since': earlier }],
    [200, { 'if-modified-since': 'nonsense' }],
    [412, { 'if-match': '"x"' }],
    [200, { 'if-match': '"fake-1"' }],
    [412, { 'if-unmodified-since': earlier }],
    [206, { 'if-range': '"fake-1"', range: 'bytes=0-0' }],
    [206, { 'if-range': date, range: 'bytes=0-0' }],
  ];
  for (const [status, headers] of rows) t.equal((await get(headers)).status, status, JSON.stringify(headers));
  await put('abc');
  t.equal((await get({ 'if-range': '"fake-1"', range: 'bytes=0-0' })).text, 'abc');
});

t.test('file names arrive whole, whatever they hold', async (t) => {
  const { get } = await setup(t, { fileName: 'naïve "x" 漢\r\nset-cookie: a.zip', attachment: false });
  const { status, header } = await get();
  t.equal(status, 200);
  t.equal(header('set-cookie'), null);
  t.match(
    header('content-disposition'),
    /^inline; .*filename\*=UTF-8''na%C3%AFve%20%22x%22%20%E6%BC%A2%0D%0Aset-cookie%3A%20a\.zip$/,
  );
});

t.test('an absent object is 404, one replaced while it is opened 503, an empty one empty', async (t) => {
  const { get, put, store, signal, onGet } = await setup(t);
  await put('');
  const empty = await get();
  t.same([empty.status, empty.text, empty.header('content-length')], [200, '', '0']);
  await put('old');
  onGet(async (...args) => {
    await put('new content');
    return store.get(...args);
  });
  t.equal((await get()).status, 503);
  await store.remove(['k'], signal);
  const absent = await get();
  t.same([absent.status, JSON.parse(absent.text).message], [404, 'no such file']);
});

t.test('a store that fails half-way cuts the answer off', async (t) => {
  const { app, onGet, store, signal } = await setup(t);
  const info = await store.head('k', signal);
  async function* broken(): AsyncGenerator<Buffer> {
    yield Buffer.from('012');
    throw new Error('the disk is gone');
  }
  onGet(async () => info && { info, body: Readable.from(broken()) });
  await t.rejects(fetch(`${app.url}/file`).then((response) => response.text()));
});

t.test('a client that leaves closes the body of the store', async (t) => {
  const { app, onGet, store, signal } = await setup(t);
  const info = await store.head('k', signal);
  const body = new Readable({ read() {} });
  body.push('0');
  onGet(async () => info && { info, body });
  const leaving = new AbortController();
  const response = await fetch(`${app.url}/file`, { signal: leaving.signal });
  t.equal(response.status, 200);
  leaving.abort();
  if (!body.destroyed) await once(body, 'close').catch(() => undefined);
  t.ok(body.destroyed);
});

t.test('a range is the bytes it names, cut at the end', async (t) => {
  t.same(parseRange('bytes=0-3', 10), { kind: 'part', range: { from: 0, to: 3 } });
  t.same(parseRange('bytes=4-', 10), { kind: 'part', range: { from: 4, to: 9 } });
  t.same(parseRange('bytes=-3', 10), { kind: 'part', range: { from: 7, to: 9 } });
  t.same(parseRange('bytes=-30', 10), { kind: 'part', range: { from: 0, to: 9 } });
  t.same(parseRange('bytes=9-99', 10), { kind: 'part', range: { from: 9, to: 9 } });
});

t.test('a range without a byte in the content cannot be satisfied', async (t) => {
  for (const header of ['bytes=10-', 'bytes=10-12', 'bytes=-0', `bytes=${'9'.repeat(400)}-`])
    t.same(parseRange(header, 10), { kind: 'unsatisfiable' }, header);
  for (const header of ['bytes=0-', 'bytes=-1', 'bytes=0-0']) t.same(parseRange(header, 0), { kind: 'unsatisfiable' });
});

t.test('what is no single range of bytes is ignored', async (t) => {
  const ignored = [undefined, '', 'bytes', 'bytes=', 'bytes=-', 'bytes=3-1', 'bytes=0-1,3-4', 'lines=0-1', 'bytes=a-b'];
  for (const header of [...ignored, 'bytes=0x1-2', 'bytes=1.5-2', 'bytes=+1-2', 'bytes=--1'])
    t.same(parseRange(header, 10), { kind: 'whole' }, String(header));
});

t.test('a part is never outside the content, and is what slicing gives', async (t) => {
  const bound = fc.option(fc.nat({ max: 40 }), { nil: undefined });
  fc.assert(
    fc.property(fc.nat({ max: 20 }), bound, bound, (size, first, last) => {
      const content = Buffer.from(Array.from({ length: size }, (_, i) => i));
      const answer = parseRange(`bytes=${first ?? ''}-${last ?? ''}`, size);
      const wanted =
        first === undefined && last === undefined
          ? content
          : first === undefined
            ? content.subarray(Math.max(0, size - (last ?? 0)))
            : last !== undefined && last < first
              ? content
              : content.subarray(first, last === undefined ? size : last + 1);
      if (answer.kind === 'part') {
        const { from, to } = answer.range;
        return from >= 0 && from <= to && to < size && content.subarray(from, to + 1).equals(wanted);
      }
      return answer.kind === 'whole' ? wanted.equals(content) : wanted.length === 0;
    }),
    { numRuns: 2_000 },
  );
  fc.assert(
    fc.property(fc.string(), fc.nat(), (header, size) =>
      ['whole', 'part', 'unsatisfiable'].includes(parseRange(header, size).kind),
    ),
  );
  t.pass();
});
