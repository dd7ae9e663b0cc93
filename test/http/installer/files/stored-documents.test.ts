import t, { type Test } from 'tap';
import { objectKey } from '../../../../engine/model/object-key.ts';
import { cacheDatabase } from '../../../support/cache-database.ts';
import { metadataOf, newUser } from '../../../support/dataset-samples.ts';
import { ADMIN_TOKEN, type App, type AppOptions, installerApp } from '../installer-app.ts';
import { responseFaults, schemaOf } from '../response-check.ts';
import { type Added, INSTALL_TARGETS, imported, share } from '../stored-datasets.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);
const setup = (t: Test, options: AppOptions = {}) =>
  installerApp(t, db, { ...options, settings: { installTargets: INSTALL_TARGETS, ...options.settings } });

const NAMES = ['vdi-meta.json', 'upload-error.json'] as const;
const read = (app: App, user: string | undefined, at: Added, name: string, headers = {}) =>
  app.call(user, 'GET', `/datasets/${at.dataset}/files${name && `/${name}`}`, { headers });

const fail = (app: App, at: Added, text: string) =>
  app.store.put(objectKey(at, 'upload-error.json'), Buffer.from(text), {}, signal);

t.test('the metadata are shown as they are stored, without what is ours alone', async (t) => {
  const app = await setup(t);
  const me = newUser();
  const at = await imported(app, db, me, { visibility: 'public', firstPublished: '2026-01-01T00:00:00.000Z' });
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
  const app = await setup(t);
  const me = newUser();
  const at = await imported(app, db, me);
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
  }
});

t.test('whoever sees the file listing sees the documents, and nobody else', async (t) => {
  const app = await setup(t);
  const [owner, friend, revoked, stranger] = [newUser(), newUser(), newUser(), newUser()];
  const hidden = await imported(app, db, owner);
  const open = await imported(app, db, owner, { visibility: 'protected' });
  const deleted = await imported(app, db, owner);
  for (const at of [hidden, open, deleted]) {
    await share(db, at, friend, 'grant', 'accept');
    await share(db, at, revoked, 'revoke', 'accept');
    await fail(app, at, '{"status":"failed","message":"disk full"}');
  }
  await db.query(`update dataset set state = 'deleted' where dataset_id = $1`, [deleted.dataset]);
  const answers = async (at: Added, name: string) => {
    const users = [undefined, `guest-${stranger}`, stranger, friend, revoked, owner];
    const statuses = users.map(async (user) => (await read(app, user, at, name)).status);
    const admin = await read(app, undefined, at, name, { 'admin-token': ADMIN_TOKEN });
    return [...(await Promise.all(statuses)), admin.status];
  };
  for (const name of ['', ...NAMES]) {
    t.strictSame(await answers(hidden, name), [401, 404, 404, 200, 410, 200, 200], `private ${name}`);
    t.strictSame(await answers(open, name), [401, 200, 200, 200, 200, 200, 200], `protected ${name}`);
    t.strictSame(await answers(deleted, name), [401, 404, 404, 410, 410, 410, 200], `deleted ${name}`);
  }
});

t.test('a document that nobody can read is a fault of ours that says no more', async (t) => {
  const app = await setup(t);
  const me = newUser();
  const at = await imported(app, db, me);
  await fail(app, at, 'at secret.ts:1');
  const answer = await read(app, me, at, 'upload-error.json');
  t.match([answer.status, answer.body], [500, { status: 'server-error', message: 'internal error' }]);
});
