import { gunzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { fetch, request } from 'undici';
import { jsonListText } from '../../../../http/kernel/answers/json-text.ts';
import type { RequestContext } from '../../../../http/kernel/pipeline/context.ts';
import { httpApp, route } from '../../http-app.ts';

const LONG = 'x'.repeat(2_000);

async function setup(t: Test, handler: (context: RequestContext) => Promise<void>) {
  const app = await httpApp(t, [route('/x', 'open', handler), route('/x', 'open', handler, { method: 'PATCH' })], {
    cors: ['https://site.example'],
  });
  const ask = (headers: Record<string, string> = {}, method = 'GET') => fetch(`${app.url}/x`, { headers, method });
  /** As it went over the wire. */
  const bytes = async (headers: Record<string, string>) => {
    const answer = await request(`${app.url}/x`, { headers });
    return { headers: answer.headers, body: Buffer.from(await answer.body.arrayBuffer()) };
  };
  return { app, ask, bytes };
}

t.test('JSON carries its length, big user ids digit by digit, and nothing that caches it', async (t) => {
  const { ask } = await setup(t, (context) => context.json(200, { owner: '9007199254740993' }));
  const answer = await ask();
  t.equal(await answer.text(), '{"owner":9007199254740993}');
  const expected = { 'content-length': '26', 'cache-control': 'no-store', vary: 'origin, accept-encoding' };
  t.match(Object.fromEntries(answer.headers), expected);
});

t.test('only long JSON is compressed, only for those who take it', async (t) => {
  const { bytes, ask } = await setup(t, (context) => context.json(200, LONG));
  const packed = await bytes({ 'accept-encoding': 'br, gzip;q=0.5' });
  t.equal(packed.headers['content-encoding'], 'gzip');
  t.equal(packed.headers['content-length'], String(packed.body.length));
  t.equal(gunzipSync(packed.body).toString(), JSON.stringify(LONG));
  for (const encoding of ['identity', 'br', 'gzip;q=0', 'gzip; q=0.0, br']) {
    const plain = await bytes({ 'accept-encoding': encoding });
    t.equal(plain.headers['content-encoding'], undefined, encoding);
    t.equal(plain.body.toString(), JSON.stringify(LONG), encoding);
  }
  const head = await ask({}, 'HEAD');
  t.same([head.status, await head.text()], [200, '']);
});

t.test('a client that has the version already is told so', async (t) => {
  const { ask } = await setup(t, (context) => context.json(200, { a: 1 }, { etag: '"v1"' }));
  const first = await ask();
  const etag = '"v1"';
  t.equal(first.headers.get('etag'), etag);
  t.equal(first.headers.get('cache-control'), 'private, no-cache');
  const again = await ask({ 'if-none-match': `W/${etag}` });
  t.same([again.status, await again.text(), again.headers.get('etag')], [304, '', etag]);
  t.equal((await ask({ 'if-none-match': '"other"' })).status, 200);
  t.equal((await ask({ 'if-none-match': etag }, 'PATCH')).status, 200, 'of no meaning for a change');
});

t.test('a change of another version than the current one is 412', async (t) => {
  const { ask } = await setup(t, async (context) => {
    context.requireMatch('"v2"');
    context.empty(204);
  });
  const conflict = await ask({ 'if-match': '"v1"' }, 'PATCH');
  t.equal(conflict.status, 412);
  t.match(await conflict.json(), { status: 'conflict', message: 'If-Match "v1": the current version is "v2"' });
  for (const good of [{}, { 'if-match': '"v2"' }, { 'if-match': '"v1", W/"v2"' }, { 'if-match': '*' }])
    t.equal((await ask(good as Record<string, string>, 'PATCH')).status, 204);
});

t.test('a list that nobody reads to its end closes its source', async (t) => {
  const closed = Promise.withResolvers<void>();
  const endless = async function* (): AsyncGenerator<string> {
    try {
      for (;;) yield LONG;
    } finally {
      closed.resolve();
    }
  };
  const { ask } = await setup(t, (context) => context.jsonList(endless()));
  const leaving = new AbortController();
  const { app } = await setup(t, (context) => context.jsonList(endless()));
  const answer = await fetch(`${app.url}/x`, { signal: leaving.signal });
  t.equal(answer.status, 200);
  leaving.abort();
  await closed.promise;
  t.equal(await (await ask({}, 'HEAD')).text(), '', 'HEAD ends');
});

t.test('a list has a tag unless it is too long to be gathered', async (t) => {
  const list = async function* (n: number): AsyncGenerator<string> {
    for (let i = 0; i < n; i++) yield 'x'.repeat(1_020);
  };
  let n = 2;
  const { ask } = await setup(t, (context) => context.jsonList(list(n)));
  const first = await ask();
  const etag = first.headers.get('etag') ?? '';
  t.match(etag, /^"[\w-]{27}"$/);
  t.equal(first.headers.get('cache-control'), 'private, no-cache');
  t.equal(((await first.json()) as unknown[]).length, 2);
  const again = await ask({ 'if-none-match': etag });
  t.same([again.status, await again.text()], [304, '']);
  const head = await ask({ 'accept-encoding': 'identity' }, 'HEAD');
  t.same([head.status, head.headers.get('etag'), head.headers.get('content-length')], [200, etag, '2047']);
  n = 3;
  const more = await ask({ 'if-none-match': etag });
  t.same([more.status, ((await more.json()) as unknown[]).length], [200, 3], 'another content has another tag');
  n = 300;
  const long = await ask();
  t.same([long.headers.get('etag'), long.headers.get('cache-control')], [null, 'no-store']);
  t.equal(((await long.json()) as unknown[]).length, 300);
});

async function* numbers(): AsyncGenerator<number> {
  for (let i = 0; i < 20_000; i++) yield i;
}

t.test('a compressed list arrives whole', async (t) => {
  const { bytes } = await setup(t, (context) => context.jsonList(numbers()));
  const { body, headers } = await bytes({ 'accept-encoding': 'gzip' });
  t.equal(headers['content-encoding'], 'gzip');
  t.same(
    JSON.parse(gunzipSync(body).toString()),
    Array.from({ length: 20_000 }, (_, i) => i),
  );
});

t.test('pieces of a list are large, however small its items are', async (t) => {
  const pieces: string[] = [];
  for await (const piece of jsonListText(numbers())) pieces.push(piece);
  t.equal(pieces.length, 2);
  t.equal(JSON.parse(pieces.join('')).length, 20_000);
});

t.test('a guest has a user id, an anonymous caller of an open route has none', async (t) => {
  const { ask } = await setup(t, (context) => context.json(200, context.userId));
  t.equal((await ask()).status, 403);
});
