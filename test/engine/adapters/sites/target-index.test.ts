import t, { type Test } from 'tap';
import { controlMigrations, migrate } from '../../../../engine/adapters/migrations/migrations.ts';
import { PostgresInstallTarget } from '../../../../engine/adapters/sites/install-target-postgres.ts';
import { PostgresTargetIndex } from '../../../../engine/adapters/sites/target-index-postgres.ts';
import type { TargetId, UserId } from '../../../../engine/model/ids.ts';
import { type DatasetAddress, datasetPrefix } from '../../../../engine/model/object-key.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { paged } from '../../../conformance/store-order.ts';
import { targetIndexConformance } from '../../../conformance/target-index.ts';
import { FakeTargetIndex } from '../../../fakes/fake-dataset-index.ts';
import { FakeControlSchema, FakeInstallTarget } from '../../../fakes/fake-install-target.ts';
import { openDatabase } from '../../../support/database.ts';
import { newAddress, PLASMO, TOXO } from '../../../support/dataset-samples.ts';
import { plansOf, recordingSql } from '../../../support/statement-plans.ts';

const signal = new AbortController().signal;
// The pool's search path is not the control schema: a pool may be shared by targets with several.
const db = await openDatabase(t, 'public');
for (const schema of ['control', 'elsewhere']) await migrate(db, schema, await controlMigrations(), signal);
const recording = recordingSql(db);
const at = (targets: readonly TargetId[], schema: string) => new PostgresTargetIndex(recording, { targets, schema });

t.test('PostgreSQL', async (t) => {
  targetIndexConformance(t, async () => {
    await db.query('delete from control.dataset');
    const target = (id: TargetId) =>
      new PostgresInstallTarget(db, { id, displayName: id, schema: 'control', dataSchema: id });
    return {
      indexOf: (...targets) =>
        at(
          targets.map(({ id }) => id),
          'control',
        ),
      target: target(PLASMO),
      neighbour: target(TOXO),
    };
  });
});

t.test('fake', async (t) => {
  targetIndexConformance(t, async () => {
    const schema = new FakeControlSchema();
    return {
      indexOf: (...targets) =>
        new FakeTargetIndex(
          targets.map(({ id }) => id),
          schema,
        ),
      target: new FakeInstallTarget(PLASMO, systemClock, schema),
      neighbour: new FakeInstallTarget(TOXO, systemClock, schema),
    };
  });
});

t.test('schemas of one pool are told apart', async (t) => {
  const [here] = await fill(t, 'control', 2);
  const [there] = await fill(t, 'elsewhere', 2);
  const seen = async (schema: string) =>
    Array.from(await at([PLASMO], schema).page(undefined, 10, signal), (row) => row.dataset);
  t.strictSame(await seen('control'), [here?.dataset]);
  t.strictSame(await seen('elsewhere'), [there?.dataset]);
});

t.test('a schema name that is no identifier is refused', async (t) => {
  t.throws(() => at([PLASMO], 'a"; drop'), { message: /is not a valid schema name/ });
});

t.test("of ten thousand datasets, half of them another target's", async (t) => {
  const all = await fill(t, 'control', 10_000);
  const ours = all.filter((_, n) => n % 2 === 0);
  recording.statements.length = 0;

  t.test('each page is one statement, and together they are all of ours', async (t) => {
    const seen = (await paged(at([PLASMO], 'control'), 1_000)).flat();
    t.strictSame(seen.map(datasetPrefix), ours.map(datasetPrefix).sort());
    const states = seen.map(({ installs }) => installs.get(PLASMO));
    t.ok(states.every((state) => state?.messages.data?.status === 'complete' && state.sync.data?.etag === 'e'));
    t.equal(recording.statements.length, 6);
  });

  t.test('so is a page of both targets', async (t) => {
    recording.statements.length = 0;
    const seen = (await paged(at([PLASMO, TOXO], 'control'), 1_000)).flat();
    t.strictSame(seen.map(datasetPrefix), all.map(datasetPrefix).sort());
    t.ok(seen.every(({ installs }) => installs.size === 1));
    t.equal(recording.statements.length, 11);
  });

  t.test('a page is read from the index of the order, wherever it begins', async (t) => {
    for (const plan of await plansOf(db, recording.statements)) {
      t.match(plan, /Index Scan using dataset_store_order/, plan);
      // Only what is known of one dataset is sorted.
      t.notMatch(plan, /Seq Scan|Sort Key: (?!n[._])/, plan);
    }
  });
});

/** Datasets of 200 owners in no order; every other one is the neighbour's. */
async function fill(t: Test, schema: string, count: number): Promise<DatasetAddress[]> {
  const owners = Array.from({ length: 200 }, () => newAddress().owner);
  const all = Array.from({ length: count }, (_, n) => newAddress(owners[(n * 7919) % 200] as UserId));
  const ids = all.map(({ dataset }) => dataset);
  await db.query(
    `insert into ${schema}.dataset (dataset_id, original_id, owner, type_name, type_version, category, deleted_status,
       accessibility, days_for_approval, creation_date, lease_token)
     select x.id, x.id, x.owner, 't', '1', 'T', 0, 'private', -1, now(), 1
     from unnest($1::text[], $2::numeric[]) x (id, owner)`,
    [ids, all.map(({ owner }) => owner)],
  );
  await db.query(
    `insert into ${schema}.dataset_install (dataset_id, target_id, accessibility)
     select x.id, case when x.n % 2 = 1 then $2 else $3 end, 'private'
     from unnest($1::text[]) with ordinality x (id, n)`,
    [ids, PLASMO, TOXO],
  );
  await db.query(
    `insert into ${schema}.dataset_install_message (dataset_id, target_id, install_type, status)
     select dataset_id, target_id, k, 'complete' from ${schema}.dataset_install, unnest('{meta,data}'::text[]) k`,
  );
  await db.query(
    `insert into ${schema}.sync_control
     select dataset_id, target_id, k, now(), 'e' from ${schema}.dataset_install, unnest('{meta,data,shares}'::text[]) k`,
  );
  await db.query('analyze');
  t.teardown(() => db.query(`delete from ${schema}.dataset`));
  return all;
}
