// Control schemas on a real MariaDB: what those on PostgreSQL do.

import t from 'tap';
import { migrateMariaDb } from '../../engine/adapters/mariadb/mariadb-migrations.ts';
import { mariaDbControlMigrations } from '../../engine/adapters/migrations/migrations.ts';
import { MariaDbInstallTarget } from '../../engine/adapters/sites/install-target-mariadb.ts';
import { MariaDbSiteGrants } from '../../engine/adapters/sites/site-grants-mariadb.ts';
import { MariaDbTargetIndex } from '../../engine/adapters/sites/target-index-mariadb.ts';
import type { DatasetId, TargetId, UserId } from '../../engine/model/ids.ts';
import { controlSchemaConformance } from '../conformance/control-schema.ts';
import { installTargetConformance } from '../conformance/install-target.ts';
import { siteGrantsConformance } from '../conformance/site-grants.ts';
import { targetIndexConformance } from '../conformance/target-index.ts';
import { PLASMO, TOXO } from '../support/dataset-samples.ts';
import { mariaDbServer, openMariaDb } from './mariadb.ts';

const signal = new AbortController().signal;
const server = await mariaDbServer(t);
// The pool's own database is not the control schema: a pool may be shared by targets with several.
const { db, options } = await openMariaDb(t, server);
const schema = `${options.database}_control`;
await migrateMariaDb({ ...options, schema }, await mariaDbControlMigrations(), () => {}, signal);

const at = (id: TargetId, displayName: string) => ({ id, displayName, schema, dataSchema: id });
const target = new MariaDbInstallTarget(db, at(PLASMO, 'Plasmo'));
const neighbour = new MariaDbInstallTarget(db, at(TOXO, 'Toxo'));
const shownTo = async ({ id }: { readonly id: TargetId }, dataset: DatasetId): Promise<readonly UserId[]> => {
  const rows = await db.query<{ user_id: UserId }>(
    `select user_id from ${schema}.available_user_datasets where dataset_id = ? and project_id = ?
     order by cast(user_id as char) collate utf8mb4_bin`,
    [dataset, id],
  );
  return rows.map((row) => row.user_id);
};

t.test('install target', async (t) => {
  installTargetConformance(t, async () => ({ target, neighbour, shownTo }));
});

t.test('rows', async (t) => {
  controlSchemaConformance(t, {
    target,
    neighbour,
    async rows(table, columns, dataset) {
      const rows = await db.query(`select ${columns} from ${schema}.${table} where dataset_id = ?`, [dataset]);
      return rows.map(({ store_order: _order, ...row }) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, FLAGS.has(name) ? value === 1 : value])),
      );
    },
    inTransaction: (work) =>
      db.transaction(
        (sql) =>
          work(new MariaDbInstallTarget({ query: sql.query, transaction: (inner) => inner(sql) }, at(TOXO, 'Toxo'))),
        signal,
      ),
    async someoneWaits() {
      while ((await server.query('select 1 from information_schema.innodb_lock_waits')).length === 0);
    },
  });
});
const FLAGS: ReadonlySet<string> = new Set(['is_primary', 'shares_records']);

t.test('target index', async (t) => {
  targetIndexConformance(t, async () => {
    await db.query(`delete from ${schema}.dataset`);
    return {
      indexOf: (...targets) => new MariaDbTargetIndex(db, { targets: targets.map(({ id }) => id), schema }),
      ...{ target, neighbour },
    };
  });
});

t.test('grants', async (t) => {
  siteGrantsConformance(t, async () => {
    await db.query(`delete from ${schema}.dataset_grant_told`);
    return {
      grants: new MariaDbSiteGrants(db, at(PLASMO, 'Plasmo')),
      target,
      shownTo: (dataset) => shownTo(target, dataset),
    };
  });
});

t.test('a page is read from the index of the order, wherever it begins', async (t) => {
  const statements: string[] = [];
  const recording: Pick<typeof db, 'query'> = {
    query: (text, values) => {
      statements.push(text);
      return db.query(text, values);
    },
  };
  await new MariaDbTargetIndex(recording, { targets: [PLASMO, TOXO], schema }).page(undefined, 10, signal);
  const plan = await db.query(`explain ${statements[0]}`, ['', PLASMO, TOXO, 10, PLASMO, TOXO]);
  const page = plan.find(({ table }) => table === 'p');
  t.match(page, { type: 'range', key: 'dataset_store_order' });
  t.notMatch(page?.Extra, /filesort|temporary/);
});

t.test('a schema name that is no identifier is refused', async (t) => {
  for (const Adapter of [MariaDbInstallTarget, MariaDbTargetIndex, MariaDbSiteGrants])
    t.throws(() => new Adapter(db, { ...at(PLASMO, 'P'), targets: [PLASMO], schema: 'a`; drop' }), {
      message: /is not a valid schema name/,
    });
});
