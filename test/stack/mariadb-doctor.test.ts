// What `doctor`, the support bundle and a backup say of databases on a real MariaDB.

import t from 'tap';
import { mariaDbElsewhere } from '../../bin/cli/backup/served-parts.ts';
import { mariaDbCheck } from '../../bin/cli/doctor/mariadb-check.ts';
import { runChecks } from '../../bin/cli/doctor/run-checks.ts';
import { databaseFacts } from '../../bin/cli/support-bundle/database-facts.ts';
import type { Configuration } from '../../config/configuration.ts';
import type { MariaDbOptions } from '../../engine/adapters/mariadb/mariadb.ts';
import { migrateMariaDb } from '../../engine/adapters/mariadb/mariadb-migrations.ts';
import { mariaDbControlMigrations } from '../../engine/adapters/migrations/migrations.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { mariaDbServer, OTHER_HOST, openMariaDb } from './mariadb.ts';

const signal = new AbortController().signal;
const server = await mariaDbServer(t);
const { db, options } = await openMariaDb(t, server);
const migrations = await mariaDbControlMigrations();
const KEY = 'installer.installTargets[0].controlDb';
const { database, user } = options;

async function look(more: Partial<MariaDbOptions> = {}) {
  const schema = more.schema ?? options.schema;
  const ours = { migrations, command: 'longshore migrate-target' };
  const check = mariaDbCheck(
    {
      uses: [{ name: 'control', key: KEY, schema, ours }],
      where: 'as configured',
      locate: async () => ({ ...options, ...more }),
      explainLocate: () => 'not looked up',
    },
    systemClock,
  );
  const [diagnosis] = await runChecks([check], systemClock, signal);
  if (!diagnosis) throw new Error('a check gives a diagnosis');
  return diagnosis;
}

t.test('a schema: missing, not migrated, up to date, of another version', async (t) => {
  const problem = async (more: Partial<MariaDbOptions> = {}) => (await look(more)).problems.map((one) => one.problem);
  t.match(await look(), {
    status: 'failed',
    where: `127.0.0.1:${server.port}/${database}`,
    says: /^MariaDB 1\d\.\d+/,
    problems: [
      {
        severity: 'fault',
        problem: `control: schema ${database} is not up to date: migrations 1 are missing`,
        fix: 'longshore migrate-target',
      },
    ],
  });
  t.same(await problem({ schema: 'absent' }), [`control: schema absent is missing, or ${user} may do nothing there`]);
  await migrateMariaDb(options, migrations, () => {}, signal);
  t.match(await look(), { status: 'ok', problems: [] });
  await db.query("update migration set checksum = 'x'");
  t.match(await problem(), [/was made by an unreleased version of this program: migrations 1 differ/]);
  await db.query('update migration set number = 2');
  t.match(await problem(), [/migrations 1 are missing/, /is newer than this program: it has migrations 2/]);
  await db.query('delete from migration');
  await migrateMariaDb(options, migrations, () => {}, signal);
});

t.test('a server that lets nobody in, or is not there', async (t) => {
  const fix = async (more: Partial<MariaDbOptions>) => (await look(more)).problems.map((one) => one.fix).join();
  t.match(await fix({ password: 'wrong' }), `correct ${KEY}.username and password`);
  // Whoever may not use a database is not told whether it is there.
  t.match(await fix({ database: 'absent' }), `GRANT ALL ON \`absent\`.* TO '${user}'@'%'; or correct ${KEY}.name`);
  t.match(await fix({ user: 'root', password: '', database: 'absent' }), 'CREATE DATABASE `absent`');
  t.match(
    await fix({ host: OTHER_HOST, tls: { rejectUnauthorized: true } }),
    `into ${KEY}.tlsOptions.caFile; the certificate has to name ${OTHER_HOST}`,
  );
  await server.stop();
  t.match(await fix({}), 'nothing is listening there: start MariaDB');
  await server.start();
});

const at = {
  ...{ kind: 'direct', server: { host: '127.0.0.1', port: server.port }, name: database, platform: 'MariaDB' },
  ...{ username: user, password: options.password, poolSize: 5, idleTimeoutMs: 1_000, tls: false, schema: database },
} as const;
const installTargets = [{ targetId: 'AlphaDB', controlDb: at, dataDb: { ...at, platform: 'Postgres' } }];

t.test('the support bundle has the sizes of tables, and the migrations', async (t) => {
  const installer = { cacheDb: { ...at, server: { host: '127.0.0.1', port: 1 } }, installTargets };
  const facts = await databaseFacts({ installer } as unknown as Configuration, signal);
  const control = facts['AlphaDB control'] as { version: string; tables: { table: string }[]; migrations: object };
  t.match(control.version, /MariaDB/);
  t.match(control.tables.map(({ table }) => table).sort(), ['dataset', 'dataset_associated_factor']);
  t.strictSame(control.migrations, { missing: [], changed: [], unknown: [] });
});

t.test('a backup says what it does not contain', async (t) => {
  t.match(mariaDbElsewhere(installTargets as unknown as Configuration['installer']['installTargets']), [
    `the control database of AlphaDB: ${database} on MariaDB at 127.0.0.1:${server.port}; keep it with mariadb-dump`,
  ]);
});
