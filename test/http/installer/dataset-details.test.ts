import t from 'tap';
import { revisionOf, targetId } from '../../../engine/model/ids.ts';
import { objectKey } from '../../../engine/model/object-key.ts';
import { OldDatasetDetails } from '../../../http/installer/dataset-details.ts';
import { cacheDatabase } from '../../support/cache-database.ts';
import { fullMetadataOf, newDataset, newUser } from '../../support/dataset-samples.ts';
import { type App, installerApp } from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';
import { add, IMPORTED, imported, share } from './stored-datasets.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);

const statusOf = async (app: App, user: string | undefined, path: string): Promise<number> =>
  (await app.call(user, 'GET', path)).status;

t.test('details show everything in both versions, as the schemas say', async (t) => {
  const app = await installerApp(t, db);
  const [me, friend] = [newUser(), newUser()];
  const dataset = newDataset();
  const at = await add(app, db, me, fullMetadataOf(me, dataset), IMPORTED, dataset);
  await share(db, at, friend, 'revoke', 'accept');
  await add(app, db, me, { projectName: 'Project P', name: 'Related' });
  const answer = await app.call(me, 'GET', `/datasets/${dataset}`);
  t.equal(answer.status, 200);
  t.strictSame(responseFaults(schemaOf(app.routes, 'getDataset', 200), answer.text), []);
  const version = (await app.store.head(objectKey(at, 'vdi-meta.json'), signal))?.etag;
  const etag = answer.headers.get('etag') ?? '';
  t.match(etag, new RegExp(`^"${version}\\.[\\w-]{27}"$`));
  t.equal(answer.headers.get('api-version'), '1.8.0');
  t.match(answer.body, {
    datasetId: dataset,
    datasetCharacteristics: { studyDesign: 'cohort' },
    shares: [{ status: 'revoke' }],
    revisionHistory: { revisions: [{ fileListUrl: `${app.url}/datasets/${dataset}/files` }] },
    relatedDatasets: [{ name: 'Related', relatedBy: { relationType: 'project-name', identifier: 'Project P' } }],
    files: { upload: { zipSize: -1 }, documents: [{ fileName: 'notes.pdf', fileSize: 5 }] },
  });
  t.notOk('firstPublished' in (answer.body as object));

  const old = await app.call(me, 'GET', `/datasets/${dataset}`, { headers: { 'api-version': '1.7.0' } });
  t.strictSame(responseFaults(OldDatasetDetails, old.text), []);
  t.match(old.body, {
    studyCharacteristics: { studyDesign: 'cohort' },
    files: { variableProperties: [{ fileName: 'p.tsv', fileSize: 6 }] },
  });
});

t.test('the tag of the details changes with the status, its first part only with the metadata', async (t) => {
  const app = await installerApp(t, db);
  const me = newUser();
  const { dataset } = await add(app, db, me);
  const get = (headers: Record<string, string> = {}) => app.call(me, 'GET', `/datasets/${dataset}`, { headers });
  const before = (await get()).headers.get('etag') ?? '';
  t.equal((await get({ 'if-none-match': before })).status, 304);
  await db.query(`update dataset set import_status = 'failed', upload_status = 'success' where dataset_id = $1`, [
    dataset,
  ]);
  const after = await get({ 'if-none-match': before });
  t.equal(after.status, 200);
  t.not(after.headers.get('etag'), before);
  t.equal(after.headers.get('etag')?.split('.')[0], before.split('.')[0]);
});

t.test('live install statuses replace the mirror where they are wired in', async (t) => {
  const live = { target: targetId('PlasmoSite'), kind: 'data', status: 'complete', messages: ['fine'] } as const;
  const app = await installerApp(t, db, { installStatus: async () => [live] });
  const me = newUser();
  const { dataset } = await imported(app, db, me);
  const answer = await app.call(me, 'GET', `/datasets/${dataset}`, { headers: { 'api-version': '1.8.0' } });
  t.strictSame((answer.body as { status: { install: unknown } }).status.install, [
    { installTarget: 'PlasmoSite', meta: { status: 'queued' }, data: { status: 'complete', messages: ['fine'] } },
  ]);
});

t.test('a replaced dataset leads to its newest revision, never to itself', async (t) => {
  const app = await installerApp(t, db);
  const [owner, friend] = [newUser(), newUser()];
  const root = await add(app, db, owner, {}, { ...IMPORTED, state: 'superseded' });
  const history = { originalId: root.dataset, revisions: [] };
  const second = await add(
    app,
    db,
    owner,
    { revisionHistory: history },
    { ...IMPORTED, state: 'superseded' },
    revisionOf(root.dataset, 1),
  );
  const third = await add(app, db, owner, { revisionHistory: history }, IMPORTED, revisionOf(root.dataset, 2));
  await share(db, root, friend, 'grant', 'accept');
  for (const at of [root, second]) {
    const answer = await app.call(owner, 'GET', `/datasets/${at.dataset}`);
    t.strictSame(
      [answer.status, answer.headers.get('location'), answer.text],
      [301, `${app.url}/datasets/${third.dataset}`, ''],
    );
  }
  t.equal(await statusOf(app, owner, `/datasets/${third.dataset}`), 200);
  t.equal(await statusOf(app, owner, `/datasets/${root.dataset}/files`), 200, 'old files stay readable');
  t.equal(await statusOf(app, friend, `/datasets/${root.dataset}`), 200, 'not to what the caller may not see');
  await db.query(`update dataset set state = 'deleted' where dataset_id = $1`, [root.dataset]);
  t.equal(await statusOf(app, owner, `/datasets/${root.dataset}`), 301);
  t.equal(await statusOf(app, friend, `/datasets/${root.dataset}`), 410);
});
