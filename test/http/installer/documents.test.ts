import t from 'tap';
import { fileKey, objectKey } from '../../../engine/model/object-key.ts';
import { cacheDatabase } from '../../support/cache-database.ts';
import type { App } from './installer-app.ts';
import { rawCall } from './raw-call.ts';
import { responseFaults, schemaOf } from './response-check.ts';
import { type Added, owned } from './stored-datasets.ts';

const db = await cacheDatabase(t);

const OCTETS = { 'content-type': 'application/octet-stream' };
const pathOf = (at: Pick<Added, 'dataset'>, name: string): string => `/datasets/${at.dataset}/files/documents/${name}`;
const put = (app: App, user: string | undefined, at: Pick<Added, 'dataset'>, name: string, body: string) =>
  app.call(user, 'PUT', pathOf(at, name), { body, headers: OCTETS });
const get = (app: App, user: string | undefined, at: Pick<Added, 'dataset'>, name: string, headers = {}) =>
  app.call(user, 'GET', pathOf(at, name), { headers });

const listed = async (app: App, at: Added) =>
  ((await app.call(at.owner, 'GET', `/datasets/${at.dataset}/files`)).body as { documents: unknown }).documents;
const stored = (app: App, at: Added) => app.store.keys().filter((key) => key.startsWith(fileKey(at, 'documents', '')));

t.test('a document is stored, listed, downloaded and removed', async (t) => {
  const { app, owner: me, at } = await owned(t, db, {}, { now: () => Date.UTC(2030, 0, 1) });
  const created = await put(app, me, at, 'read%20m%C3%A9.txt', 'hello world');
  t.strictSame([created.status, created.text], [204, '']);
  t.strictSame(await listed(app, at), [{ fileName: 'read mé.txt', fileSize: 11 }]);
  const whole = await get(app, me, at, 'read%20m%C3%A9.txt');
  t.strictSame([whole.status, whole.text], [200, 'hello world']);
  t.match(Object.fromEntries(whole.headers), {
    'content-type': 'application/octet-stream',
    'content-length': '11',
    'content-disposition': `attachment; filename="read m?.txt"; filename*=UTF-8''read%20m%C3%A9.txt`,
    'accept-ranges': 'bytes',
    'x-content-type-options': 'nosniff',
    'last-modified': 'Tue, 01 Jan 2030 00:00:00 GMT',
  });
  const gone = await app.call(me, 'DELETE', pathOf(at, 'read%20m%C3%A9.txt'));
  t.strictSame([gone.status, gone.text], [204, '']);
  t.strictSame([await listed(app, at), stored(app, at)], [[], []]);
  for (const method of ['GET', 'DELETE']) {
    const absent = await app.call(me, method, pathOf(at, 'x.txt'));
    t.strictSame(
      [absent.status, absent.body],
      [404, { status: 'not-found', message: `dataset ${at.dataset} has no document 'x.txt'` }],
    );
  }
});

t.test('a download can be a part or a head, and its tag is that of the content', async (t) => {
  const { app, owner: me, at } = await owned(t, db);
  await put(app, me, at, 'a.bin', '0123456789');
  const part = await get(app, me, at, 'a.bin', { range: 'bytes=2-4' });
  t.strictSame([part.status, part.text, part.headers.get('content-range')], [206, '234', 'bytes 2-4/10']);
  const head = await app.call(me, 'HEAD', pathOf(at, 'a.bin'));
  t.strictSame([head.status, head.text, head.headers.get('content-length')], [200, '', '10']);
  const etag = head.headers.get('etag') ?? '';
  await put(app, me, at, 'a.bin', '9876543210');
  t.equal((await get(app, me, at, 'a.bin', { 'if-none-match': etag })).text, '9876543210');
  t.equal((await app.call(undefined, 'GET', `${pathOf(at, 'a.bin')}?access_token=${me}`)).status, 200);
});

t.test('a name can be put again, but not in another spelling', async (t) => {
  const { app, owner: me, at } = await owned(t, db);
  t.equal((await put(app, me, at, 'Notes.txt', 'one')).status, 204);
  t.equal((await put(app, me, at, 'Notes.txt', 'three')).status, 204);
  const other = await put(app, me, at, 'notes.TXT', 'two');
  t.strictSame(
    [other.status, other.body],
    [
      400,
      { status: 'bad-request', message: "the file name 'notes.TXT' is taken by 'Notes.txt' (case does not count)" },
    ],
  );
  t.strictSame(await listed(app, at), [{ fileName: 'Notes.txt', fileSize: 5 }]);
  t.strictSame(stored(app, at), [fileKey(at, 'documents', 'Notes.txt')]);
  t.equal((await get(app, me, at, 'notes.txt')).status, 404);
  // Both ways to write an e with an accent are the same name.
  t.equal((await put(app, me, at, 'e%CC%81', 'accent')).status, 204);
  t.equal((await get(app, me, at, '%C3%A9')).text, 'accent');
  t.equal((await app.call(me, 'DELETE', pathOf(at, '%C3%A9'))).status, 204);
});

t.test('a name is a label and never a path', async (t) => {
  const { app, owner: me, at } = await owned(t, db);
  const before = app.store.keys();
  const names: readonly (readonly [name: string, put: number, get: number])[] = [
    ['..%2Fvdi-meta.json', 400, 404],
    ['a%2Fb', 400, 404],
    ['a%5Cb', 400, 404],
    ['..', 400, 404],
    ['.', 400, 404],
    ['%2e%2e', 400, 404],
    ['a%0Ab', 400, 404],
    ['a%7Fb', 400, 404],
    ['a%00b', 400, 400],
    ['a%FFb', 400, 400],
    ['%', 400, 400],
    ['x'.repeat(256), 400, 404],
    ['%C3%A9'.repeat(128), 400, 404],
    ['x'.repeat(5_000), 404, 404],
    ['a/b', 404, 404],
    ['', 400, 404],
  ];
  const schema = schemaOf(app.routes, 'putDocument', 400);
  for (const [name, putStatus, getStatus] of names) {
    for (const [method, status] of [
      ['PUT', putStatus],
      ['GET', getStatus],
      ['DELETE', getStatus],
    ] as const) {
      const answer = await rawCall(app, me, method, pathOf(at, name), OCTETS, method === 'PUT' ? ['text'] : []);
      t.equal(answer.status, status, `${method} ${name.slice(0, 20)}`);
      t.strictSame(responseFaults(schema, answer.bytes.toString()), []);
    }
  }
  const longest = '%C3%A9'.repeat(127);
  t.equal((await put(app, me, at, longest, 'text')).status, 204);
  t.equal((await get(app, me, at, longest)).text, 'text');
  t.strictSame(app.store.keys(), [...before, fileKey(at, 'documents', 'é'.repeat(127))].sort());
});

t.test('the documents of a deleted dataset are gone, and those of a replaced one stay as they are', async (t) => {
  const { app, owner, at } = await owned(t, db);
  await put(app, owner, at, 'a.txt', 'text');
  const status = async () => [
    (await get(app, owner, at, 'a.txt')).status,
    (await put(app, owner, at, 'a.txt', 'new')).status,
    (await app.call(owner, 'DELETE', pathOf(at, 'a.txt'))).status,
  ];
  for (const state of ['deleting', 'deleted', 'pruning']) {
    await db.query('update dataset set state = $2 where dataset_id = $1', [at.dataset, state]);
    t.strictSame(await status(), [410, 410, 410], state);
  }
  await db.query(`update dataset set state = 'superseded' where dataset_id = $1`, [at.dataset]);
  t.strictSame(await status(), [200, 403, 403]);
  t.equal(app.store.text(fileKey(at, 'documents', 'a.txt')), 'text');
});

t.test('a store that is away changes nothing', async (t) => {
  const { app, owner: me, at } = await owned(t, db);
  await put(app, me, at, 'a.txt', 'text');
  app.store.onCall = () => {
    throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
  };
  t.equal((await put(app, me, at, 'a.txt', 'other')).status, 500);
  t.equal((await app.call(me, 'DELETE', pathOf(at, 'a.txt'))).status, 500);
  app.store.onCall = () => undefined;
  t.strictSame(await listed(app, at), [{ fileName: 'a.txt', fileSize: 4 }]);
  t.equal(app.store.text(fileKey(at, 'documents', 'a.txt')), 'text');
  t.ok(app.store.keys().includes(objectKey(at, 'vdi-meta.json')));
});
