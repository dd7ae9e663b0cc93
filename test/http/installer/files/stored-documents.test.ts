import t from 'tap';
import { objectKey } from '../../../../engine/model/object-key.ts';
import { cacheDatabase } from '../../../support/cache-database.ts';
import { metadataOf, newUser } from '../../../support/dataset-samples.ts';
import { ADMIN_TOKEN, type App } from '../installer-app.ts';
import { responseFaults, schemaOf } from '../response-check.ts';
import { type Added, owned, share } from '../stored-datasets.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);

const read = (app: App, user: string | undefined, at: Added, name: string, headers = {}) =>
  app.call(user, 'GET', `/datasets/${at.dataset}/files${name && `/${name}`}`, { headers });

const fail = (app: App, at: Added, text: string) =>
  app.store.put(objectKey(at, 'upload-error.json'), Buffer.from(text), {}, signal);

t.test('the metadata are shown as they are stored, without what is ours alone', async (t) => {
  const {
    app,
    owner: me,
    at,
  } = await owned(t, db, { visibility: 'public', firstPublished: '2026-01-01T00:00:00.000Z' });
  const answer = await read(app, me, at, 'vdi-meta.json');
  t.equal(answer.status, 200);
  t.strictSame(responseFaults(schemaOf(app.routes, 'getStoredMetadata', 200), answer.text), []);
  t.match(answer.text, `"owner":${me}`);
  const { owner: _, ...shown } = answer.body as Record<string, unknown>;
  const { owner: __, ...expected } = metadataOf(me, { visibility: 'public' });
  t.strictSame(shown, JSON.parse(JSON.stringify(expected)));
  t.match(app.store.text(objectKey(at, 'vdi-meta.json')), 'firstPublished');
  const { etag = '', ...headers } = Object.fromEntries(answer.headers);
  t.match(headers, { 'content-disposition': /^attachment; filename="?vdi-meta\.json"?$/, 'content-type': /json/ });
  t.equal((await read(app, me, at, 'vdi-meta.json', { 'if-none-match': etag })).status, 304);
  const inline = await read(app, me, at, 'vdi-meta.json?download=false');
  t.match(inline.headers.get('content-disposition'), /^inline/);
  t.equal((await read(app, me, at, 'vdi-meta.json?download=perhaps')).status, 400);
});

t.test('the reason of a failed upload is shown, without any stack trace', async (t) => {
  const { app, owner: me, at } = await owned(t, db);
  const absent = await read(app, me, at, 'upload-error.json');
  t.strictSame(
    [absent.status, absent.body],
    [404, { status: 'not-found', message: `dataset ${at.dataset} has no upload-error.json: its upload did not fail` }],
  );
  await fail(app, at, '{"status":"rejected","message":"links are refused","stackTrace":"at x.ts:1","stack":"y"}');
  for (const headers of [{}, { 'admin-token': ADMIN_TOKEN }]) {
    const answer = await read(app, 'admin-token' in headers ? undefined : me, at, 'upload-error.json', headers);
    t.strictSame([answer.status, answer.body], [200, { status: 'rejected', message: 'links are refused' }]);
    t.strictSame(responseFaults(schemaOf(app.routes, 'getUploadError', 200), answer.text), []);
    const alias = await read(app, 'admin-token' in headers ? undefined : me, at, 'upload-errors.json', headers);
    t.strictSame([alias.status, alias.body], [200, answer.body], 'under the other name, too');
    t.equal(alias.headers.get('etag'), answer.headers.get('etag'));
  }
});

t.test(
  'the documents of a deleted dataset are gone for those who knew of it, and still there for administrators',
  async (t) => {
    const { app, owner, at } = await owned(t, db);
    const [friend, revoked, stranger] = [newUser(), newUser(), newUser()];
    await share(db, at, friend, 'grant', 'accept');
    await share(db, at, revoked, 'revoke', 'accept');
    await fail(app, at, '{"status":"failed","message":"disk full"}');
    await db.query(`update dataset set state = 'deleted' where dataset_id = $1`, [at.dataset]);
    for (const name of ['', 'vdi-meta.json', 'upload-error.json', 'upload-errors.json']) {
      const users = [undefined, `guest-${stranger}`, stranger, friend, revoked, owner];
      const found = await Promise.all(users.map(async (user) => (await read(app, user, at, name)).status));
      t.strictSame(found, [401, 404, 404, 410, 410, 410], name);
      t.equal((await read(app, undefined, at, name, { 'admin-token': ADMIN_TOKEN })).status, 200, name);
    }
  },
);

t.test('a document that nobody can read is a fault of ours that says no more', async (t) => {
  const { app, owner: me, at } = await owned(t, db);
  await fail(app, at, 'at secret.ts:1');
  t.match(await read(app, me, at, 'upload-error.json'), {
    status: 500,
    body: { status: 'server-error', message: 'internal error' },
  });
});
