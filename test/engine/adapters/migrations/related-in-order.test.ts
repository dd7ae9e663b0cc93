import { randomBytes } from 'node:crypto';
import t from 'tap';
import { cacheMigrations, migrate } from '../../../../engine/adapters/migrations/migrations.ts';
import { openDatabase } from '../../../support/database.ts';
import { metadataOf, newUser } from '../../../support/dataset-samples.ts';

const signal = new AbortController().signal;
/** Bytes that the indexes took together with their columns before. */
const FITTED = 2_640;

t.test('texts that fitted the indexes before, but would not now, do not stop the migration', async (t) => {
  const db = await openDatabase(t, 'cache');
  const all = await cacheMigrations();
  await migrate(
    db,
    'cache',
    all.filter(({ number }) => number < 21),
    signal,
  );
  const owner = newUser();
  // Random, because an index compresses what repeats.
  const text = randomBytes(FITTED).toString('base64url').slice(0, FITTED);
  await db.query(
    `insert into dataset (dataset_id, owner_id, root_id, revision, state, type_name, type_version, metadata, visibility, name,
       upload_status, import_status, project_name, program_name)
     select id, $1::numeric, id, 0, 'live', 't', '1', $2::jsonb, 'private', 'n', 'success', 'complete', name, name
     from (values (repeat('l', 32), $3), (repeat('s', 32), 'short')) as d (id, name)`,
    [owner, JSON.stringify(metadataOf(owner)), text],
  );
  await migrate(db, 'cache', all, signal);
  const kept = await db.query<{ readonly length: number }>(
    'select length(project_name) as length from dataset order by dataset_id',
  );
  t.strictSame(kept, [{ length: FITTED }, { length: 'short'.length }]);
});
