import t, { type Test } from 'tap';
import type { DatasetId, UserId } from '../../../engine/model/ids.ts';
import { cacheDatabase } from '../../support/cache-database.ts';
import { newUser } from '../../support/dataset-samples.ts';
import { soundDetails } from './installation.ts';
import {
  ADMIN_TOKEN,
  type App,
  type AppOptions,
  detailsPart,
  FILE,
  type FormPart,
  form,
  installerApp,
  NOTHING,
  remains,
} from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);
const PATH = '/admin/rpc/datasets/proxy-upload';
const ADMIN = { 'admin-token': ADMIN_TOKEN };

async function setup(t: Test, options: AppOptions = {}) {
  const app = await installerApp(t, db, options);
  const upload = (headers: Record<string, string>, ...parts: readonly FormPart[]) =>
    app.call(undefined, 'POST', PATH, { headers, body: form(...parts) });
  const uploadFor = (owner: UserId, more: object = {}, ...parts: readonly FormPart[]) =>
    upload({ ...ADMIN, 'user-id': owner }, detailsPart({ ...soundDetails(), ...more }), FILE, ...parts);
  return { app, upload, uploadFor };
}

const viewOf = (app: App, body: unknown) => app.queries.view((body as { datasetId: DatasetId }).datasetId, signal);

t.test('an upload for somebody is that user’s, like any other', async (t) => {
  const { app, uploadFor } = await setup(t);
  const owner = newUser();
  const answer = await uploadFor(owner, {}, ['docFile', 'read me', 'notes.txt']);
  t.equal(answer.status, 202, answer.text);
  t.strictSame(responseFaults(schemaOf(app.routes, 'uploadForUser', 202), answer.text), []);
  const { datasetId } = answer.body as { datasetId: DatasetId };
  t.equal(answer.headers.get('location'), `${app.url}/datasets/${datasetId}`);
  t.strictSame(
    app.store.keys(),
    ['documents/notes.txt', 'raw/genes.txt', 'vdi-meta.json'].map((name) => `${owner}/${datasetId}/${name}`),
  );
  const view = await viewOf(app, answer.body);
  t.match(view, { owner, state: 'live', upload: { status: 'running' }, metadata: { owner, name: 'My genes' } });
  t.strictSame(await app.jobs(datasetId), [{ lane: 'upload', owner, source: 'api' }]);
  t.equal((await app.call(owner, 'GET', `/datasets/${datasetId}`)).status, 200);
});

t.test('the details may say when the dataset was made', async (t) => {
  const { app, uploadFor } = await setup(t);
  for (const [createdOn, created] of [
    ['2019-02-28T23:59:59Z', '2019-02-28T23:59:59.000Z'],
    ['2020-02-29t00:00:00.25+02:00', '2020-02-28T22:00:00.250Z'],
    [' 0001-01-01T00:00:00Z ', '0001-01-01T00:00:00.000Z'],
  ] as const) {
    const answer = await uploadFor(newUser(), { createdOn });
    t.equal(answer.status, 202, answer.text);
    const metadata = (await viewOf(app, answer.body))?.metadata;
    t.match(metadata, { created }, createdOn);
    t.notOk(metadata && 'createdOn' in metadata, 'it is no field of the metadata');
  }
  for (const createdOn of [null, '', '  ']) {
    const answer = await uploadFor(newUser(), { createdOn });
    const age = Date.now() - Date.parse((await viewOf(app, answer.body))?.metadata.created ?? '');
    t.ok(age >= 0 && age < 60_000, `${createdOn} says nothing`);
  }
});

t.test('what is no date and time is refused with all other faults, and nothing stays', async (t) => {
  const { app, uploadFor } = await setup(t);
  const owner = newUser();
  for (const createdOn of [
    ...['2026-01-02', '2026-01-02T03:04:05', '2026-02-30T00:00:00Z', '2026-01-02T24:00:00Z', '2026-01-02T12:60:00Z'],
    ...['2026-01-02T00:00:00+24:00', '0001-01-01T00:00:00+01:00', '9999-12-31T23:59:59-01:00', '0000-12-31T00:00:00Z'],
    ...['yesterday', 1_700_000_000, { year: 2026 }],
  ]) {
    const answer = await uploadFor(owner, { createdOn, name: 'x' });
    t.equal(answer.status, 422, JSON.stringify(createdOn));
    const { errors } = answer.body as { errors: { byKey: Record<string, string[]> } };
    t.strictSame(Object.keys(errors.byKey).sort(), ['createdOn', 'name'], answer.text);
    t.match(errors.byKey.createdOn, [/a date and time such as 2026-01-02T03:04:05Z is required/]);
    t.strictSame(responseFaults(schemaOf(app.routes, 'uploadForUser', 422), answer.text), []);
  }
  t.strictSame(await remains(app, db, owner), NOTHING);
});

t.test('a dataset cannot have been made later than now, give or take a minute', async (t) => {
  const { app, uploadFor } = await setup(t);
  const ahead = (ms: number): string => new Date(Date.now() + ms).toISOString();
  const owner = newUser();
  for (const createdOn of [ahead(3_600_000), '9999-12-31T23:59:59Z'])
    t.match(await uploadFor(owner, { createdOn }), {
      status: 422,
      body: { errors: { byKey: { createdOn: [/a dataset cannot have been made later than now$/] } } },
    });
  t.strictSame(await remains(app, db, owner), NOTHING);
  t.equal((await uploadFor(owner, { createdOn: ahead(10_000) })).status, 202, 'another clock may be ahead of ours');
});

t.test('users themselves cannot say when their dataset was made', async (t) => {
  const { app } = await setup(t);
  const details = { ...soundDetails(), createdOn: '2019-02-28T23:59:59Z' };
  const answer = await app.call(newUser(), 'POST', '/datasets', { body: form(detailsPart(details), FILE) });
  t.match(answer, { status: 422, body: { errors: { byKey: { createdOn: [/is not a known field/] } } } });
});

t.test('without a user there is no upload', async (t) => {
  const { app, upload } = await setup(t);
  const parts = [detailsPart(soundDetails()), FILE];
  t.match(await upload(ADMIN, ...parts), { status: 400, body: { message: /User-ID is missing/ } });
  for (const id of ['0', '-1', '1.5', 'me', '9223372036854776001', '1,2', `1${'0'.repeat(80)}`, ' '])
    t.match(
      await upload({ ...ADMIN, 'user-id': id }, ...parts),
      { status: 400, body: { status: 'bad-request', message: /^the header User-ID is/ } },
      id,
    );
  t.strictSame(app.store.keys(), []);
  for (const id of ['1', '9223372036854776000'])
    t.equal((await upload({ ...ADMIN, 'user-id': id }, ...parts)).status, 202, id);
});

t.test('the body is judged like any other', async (t) => {
  const { app, upload, uploadFor } = await setup(t, { settings: { userMaxStorageBytes: 200_000 } });
  const headers = { ...ADMIN, 'user-id': newUser() };
  t.match(await upload(headers, ['details', '[]'], FILE), {
    status: 422,
    body: { errors: { general: ['details must be a JSON object'] } },
  });
  t.match(await upload(headers, detailsPart(soundDetails())), { status: 400, body: { message: /neither/ } });
  const owner = newUser();
  const big = Buffer.alloc(90_000);
  for (const status of [202, 202, 400])
    t.equal((await uploadFor(owner, {}, ['dataFile', big, 'more.txt'])).status, status, 'the quota is the user’s');
  t.equal(
    (await app.call(undefined, 'POST', PATH, { headers: { ...headers, 'content-type': 'text/plain' }, body: '{}' }))
      .status,
    415,
  );
});
