import t from 'tap';
import { controlMigrations, migrate } from '../../../../engine/adapters/migrations/migrations.ts';
import { PostgresInstallTarget } from '../../../../engine/adapters/sites/install-target-postgres.ts';
import type { UserId } from '../../../../engine/model/ids.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { controlSchemaConformance } from '../../../conformance/control-schema.ts';
import { installTargetConformance } from '../../../conformance/install-target.ts';
import { FakeControlSchema, FakeInstallTarget } from '../../../fakes/fake-install-target.ts';
import { openDatabase } from '../../../support/database.ts';
import { PLASMO, TOXO } from '../../../support/dataset-samples.ts';

const signal = new AbortController().signal;
// The pool's search path is not the control schema: a pool may be shared by targets with several.
const db = await openDatabase(t, 'public');
await migrate(db, 'control', await controlMigrations(), signal);

const target = new PostgresInstallTarget(db, {
  id: PLASMO,
  displayName: 'Plasmo',
  schema: 'control',
  dataSchema: 'plasmo',
});
const neighbour = new PostgresInstallTarget(db, {
  id: TOXO,
  displayName: 'Toxo',
  schema: 'control',
  dataSchema: 'toxo',
});

t.test('PostgreSQL', async (t) => {
  installTargetConformance(t, async () => ({
    target,
    neighbour,
    shownTo: async ({ id }, dataset) => {
      const rows = await db.query<{ user_id: UserId }>(
        `select user_id::text as user_id from control.available_user_datasets
         where dataset_id = $1 and project_id = $2 order by user_id::text collate "C"`,
        [dataset, id],
      );
      return rows.map((row) => row.user_id);
    },
  }));
});

t.test('fake', async (t) => {
  installTargetConformance(t, async () => {
    const schema = new FakeControlSchema();
    return {
      target: new FakeInstallTarget(PLASMO, systemClock, schema),
      neighbour: new FakeInstallTarget(TOXO, systemClock, schema),
      shownTo: async (of, dataset) => (of instanceof FakeInstallTarget ? of.visibleTo(dataset) : []),
    };
  });
});

t.test('rows of PostgreSQL', async (t) => {
  controlSchemaConformance(t, {
    target,
    neighbour,
    rows: (table, columns, dataset) =>
      db.query(`select ${columns} from control.${table} where dataset_id = $1`, [dataset]),
    inTransaction: (work) =>
      db.transaction(async (sql) => {
        const same = {
          query: sql.query,
          grouped: sql,
          transaction: () => Promise.reject(new Error('in a transaction')),
        };
        await work(
          new PostgresInstallTarget(same, { id: TOXO, displayName: 'Toxo', schema: 'control', dataSchema: 'toxo' }),
        );
      }, signal),
    async someoneWaits() {
      for (;;) {
        const rows = await db.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        );
        if (rows.length > 0) return;
      }
    },
  });
});

t.test('a schema name that is no identifier is refused', async (t) => {
  const make = () =>
    new PostgresInstallTarget(db, { id: PLASMO, displayName: 'P', schema: 'a"; drop', dataSchema: 'plasmo' });
  t.throws(make, { message: /is not a valid schema name/ });
});
