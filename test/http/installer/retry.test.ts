import t from 'tap';
import { cacheDatabase } from '../../support/cache-database.ts';
import { newUser } from '../../support/dataset-samples.ts';
import { type App, installerApp } from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';
import { type Added, add, owned } from './stored-datasets.ts';

const db = await cacheDatabase(t);

const retry = async (app: App, user: string, { dataset }: Pick<Added, 'dataset'>) => {
  const { status, body, text } = await app.call(user, 'POST', `/datasets/${dataset}/retry`);
  t.strictSame(responseFaults(schemaOf(app.routes, 'retryDataset', status), text), [], text);
  return [status, (body as { message?: string }).message];
};
const set = ({ dataset }: Added, columns: string) =>
  db.query(`update dataset set ${columns} where dataset_id = $1`, [dataset]);
const FAILED = `import_status = 'failed', import_messages = '{no}'`;

t.test('an owner has a failed import repeated once', async (t) => {
  const { app, owner, at } = await owned(t, db);
  await db.query('delete from job where dataset_id = $1', [at.dataset]);
  await set(at, FAILED);
  t.strictSame(await retry(app, owner, at), [202, undefined]);
  t.strictSame(await app.jobs(at.dataset), [{ lane: 'import', owner, source: 'api' }]);
  t.match(await db.query('select import_status from dataset where dataset_id = $1', [at.dataset]), [
    { import_status: 'queued' },
  ]);
  await db.query('delete from job where dataset_id = $1', [at.dataset]);
  await set(at, FAILED);
  const message = `dataset ${at.dataset} cannot be retried: it failed again after your retry; an administrator can retry it`;
  t.strictSame(await retry(app, owner, at), [409, message]);
  t.strictSame(await app.jobs(at.dataset), []);
});

t.test('an upload that failed is repeated while its files are there', async (t) => {
  const app = await installerApp(t, db);
  const owner = newUser();
  const at = await add(app, db, owner);
  await db.query(`update job set state = 'dead', run_at = 'infinity', failure = 'defect' where dataset_id = $1`, [
    at.dataset,
  ]);
  await set(at, `upload_status = 'failed'`);
  t.strictSame(await retry(app, owner, at), [202, undefined]);
  t.match(await db.query('select state from job where dataset_id = $1', [at.dataset]), [{ state: 'queued' }]);
  await db.query(`delete from job where dataset_id = $1`, [at.dataset]);
  await db.query(`update upload set state = 'stored', source = null where dataset_id = $1`, [at.dataset]);
  await set(at, `upload_status = 'failed', owner_retried = null`);
  t.match(await retry(app, owner, at), [409, /the uploaded files are gone/]);
});

t.test('nothing else is repeated, and the answer says what helps', async (t) => {
  const { app, owner, at } = await owned(t, db);
  t.match(await retry(app, owner, at), [409, /neither its upload nor its import has failed/]);
  await set(at, `import_status = 'invalid'`);
  t.match(await retry(app, owner, at), [409, /is invalid: a retry would not help; upload a revision/]);
  await set(at, `upload_status = 'rejected'`);
  t.match(await retry(app, owner, at), [409, /is rejected/]);
  await set(at, `upload_status = 'success', ${FAILED}`);
  await db.query(
    `insert into discard (dataset_id, lane, target_id, discarded_by, reason) values ($1, 'import', '', 'user 1', 'r')`,
    [at.dataset],
  );
  t.match(await retry(app, owner, at), [409, /an operator stopped it/]);
  t.match(await retry(app, newUser(), at), [404]);
  await set(at, `state = 'deleting'`);
  t.match(await retry(app, owner, at), [403, /is deleted/]);
});
