// The look at a database, on a real one.

import pg from 'pg';
import t, { type Test } from 'tap';
import { type DatabaseUse, databaseCheck } from '../../../../bin/cli/doctor/database-check.ts';
import { runChecks } from '../../../../bin/cli/doctor/run-checks.ts';
import { cacheMigrations, migrate } from '../../../../engine/adapters/migrations/migrations.ts';
import { Postgres, type PostgresOptions } from '../../../../engine/adapters/postgres/postgres.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { type Clock, systemClock } from '../../../../engine/runtime/time.ts';
import { testDatabase } from '../../../support/database.ts';
import { freePort } from '../../../support/ports.ts';

const signal = new AbortController().signal;
const migrations = await cacheMigrations();
const numbers = migrations.map(({ number }) => number).join(', ');
const CACHE: DatabaseUse = {
  name: 'cache database',
  schema: 'installer',
  key: 'installer.cacheDb',
  ours: { migrations, command: 'longshore migrate' },
};
const ROWS: DatabaseUse = { name: 'target SiteA data', schema: 'rows', key: 'installer.installTargets[0].dataDb' };

async function setup(t: Test): Promise<{ readonly options: PostgresOptions; run(sql: string): Promise<void> }> {
  const database = await testDatabase(t);
  const options = { ...database, schema: 'installer', poolSize: 1, idleTimeoutMs: 1_000, applicationName: 'doctor' };
  return {
    options,
    async run(sql) {
      const client = new pg.Client(database);
      await client.connect();
      await client.query(sql).finally(() => client.end());
    },
  };
}

async function look(
  options: PostgresOptions,
  uses: readonly [DatabaseUse, ...DatabaseUse[]] = [CACHE],
  clock: Clock = systemClock,
) {
  const check = databaseCheck(
    { uses, where: 'somewhere', locate: async () => options, explainLocate: () => 'find it' },
    clock,
  );
  const [diagnosis] = await runChecks([check], systemClock, signal);
  if (!diagnosis) throw new Error('a check gives a diagnosis');
  const { name, where, status, says, problems } = diagnosis;
  return { name, where, status, says, problems };
}

t.test('a schema that is not up to date is told with the command for it, one that is with nothing', async (t) => {
  const { options, run } = await setup(t);
  const where = `127.0.0.1:${options.port}/${options.database}`;
  const stale = {
    severity: 'fault',
    problem: `cache database: schema installer is not up to date: migrations ${numbers} are missing`,
    fix: 'longshore migrate',
  };
  t.match(await look(options), { name: 'cache database', where, status: 'failed', problems: [stale] });
  await using db = new Postgres(options, silentLogger());
  await migrate(db, 'installer', migrations, signal);
  await run('create schema rows');
  t.match(await look(options, [CACHE, ROWS]), {
    name: 'cache database, target SiteA data',
    where,
    status: 'ok',
    says: /^PostgreSQL \d+/,
    problems: [],
  });
  await run("insert into installer.migration (number, name, checksum) values (99, 'later', 'x')");
  const problem = async () => (await look(options)).problems.map(({ problem }) => problem);
  t.strictSame(await problem(), ['cache database: schema installer is newer than this program: it has migrations 99']);
  await run("update installer.migration set checksum = 'other' where number in (1, 2)");
  t.strictSame(await problem(), [
    'cache database: schema installer was made by an unreleased version of this program: migrations 1, 2 differ',
  ]);
});

t.test('a database that is missing is told with the SQL that makes it, and nothing is made', async (t) => {
  const { options } = await setup(t);
  const missing = { ...options, database: `${options.database}_not` };
  t.match(await look(missing), {
    status: 'failed',
    problems: [
      {
        problem: new RegExp(`database "${missing.database}" does not exist`),
        fix: `as a superuser: CREATE DATABASE "${missing.database}" OWNER "postgres"; or correct installer.cacheDb.name`,
      },
    ],
  });
});

t.test('a role without the right password, without rights, and a schema of the site that is missing', async (t) => {
  const { options, run } = await setup(t);
  const role = options.database;
  await run(`create role ${role} login password 'right-password'; create schema installer`);
  t.teardown(() => run(`drop role ${role}`));
  const problem = { ...options, user: role, password: 'planted-password' };
  const refused = await look(problem);
  t.match(refused.problems, [
    {
      problem: /password authentication failed/,
      fix: `correct installer.cacheDb.username and password, or as a superuser: ALTER ROLE "${role}" LOGIN PASSWORD '..';`,
    },
  ]);
  t.notMatch(JSON.stringify(refused), /planted-password/);
  t.strictSame((await look({ ...problem, password: 'right-password' }, [CACHE, ROWS])).problems, [
    {
      severity: 'fault',
      problem: `cache database: schema installer cannot be used by role ${role}`,
      fix: `as its owner: GRANT ALL ON SCHEMA "installer" TO "${role}";`,
    },
    {
      severity: 'fault',
      problem: 'target SiteA data: schema rows is missing',
      fix: `as a superuser: CREATE SCHEMA "rows" AUTHORIZATION "${role}"; or correct installer.installTargets[0].dataDb.schema`,
    },
  ]);
});

t.test('nobody there, and a server that speaks no TLS', async (t) => {
  const { options } = await setup(t);
  const port = await freePort();
  t.match((await look({ ...options, port })).problems, [
    {
      problem: /ECONNREFUSED/,
      fix: /^nothing is listening there: start PostgreSQL, or correct installer\.cacheDb\.server/,
    },
  ]);
  t.match((await look({ ...options, tls: { rejectUnauthorized: true } })).problems, [
    { problem: /does not support SSL/, fix: /check installer\.cacheDb\.tls: a server without TLS rejects it/ },
  ]);
});

t.test(
  'the advice for a database that is looked up names its directory entry, and no key that is not there',
  async (t) => {
    const { options } = await setup(t);
    const key = 'installer.installTargets[0].controlDb';
    const use: DatabaseUse = { name: 'target SiteA control', schema: 'control', key };
    const advised = async (changes: Partial<PostgresOptions>): Promise<string> => {
      const check = databaseCheck(
        {
          uses: [use],
          where: 'cn=genes',
          lookupCn: 'genes',
          locate: async () => ({ ...options, ...changes }),
          explainLocate: () => 'find it',
        },
        systemClock,
      );
      const [diagnosis] = await runChecks([check], systemClock, signal);
      return diagnosis?.problems[0]?.fix ?? '';
    };
    const entry = 'correct the directory entry cn=genes';
    t.match(await advised({ port: await freePort() }), `start PostgreSQL, or ${entry}; `);
    t.match(await advised({ host: 'no-such-host.invalid' }), `the name cannot be resolved: ${entry}, or`);
    t.match(await advised({ database: 'not_there' }), `or ${entry}`);
    for (const changes of [{ port: 1 }, { host: 'no-such-host.invalid' }, { database: 'not_there' }, { password: 'x' }])
      t.notMatch(await advised(changes), /controlDb\.(server|name)\b/, JSON.stringify(changes));
  },
);

t.test('clocks that differ by more than five seconds', async (t) => {
  const { options } = await setup(t);
  const off = (ms: number): Clock => ({ ...systemClock, now: () => systemClock.now() + ms });
  const said = async (ms: number) =>
    (await look(options, [CACHE], off(ms))).problems
      .map(({ problem }) => problem)
      .filter((text) => text.includes('clock'));
  t.strictSame(await said(-60_000), ['its clock is 60 s ahead of that of this machine']);
  t.strictSame(await said(60_000), ['its clock is 60 s behind that of this machine']);
  t.strictSame(await said(4_000), []);
});

t.test('a database that could not be located', async (t) => {
  const check = databaseCheck(
    {
      uses: [ROWS],
      where: 'cn=rows',
      locate: () => Promise.reject(new Error('there is none')),
      explainLocate: () => 'make the entry',
    },
    systemClock,
  );
  t.match(await runChecks([check], systemClock, signal), [
    { where: 'cn=rows', status: 'failed', problems: [{ problem: 'the check failed (Error)', fix: 'make the entry' }] },
  ]);
});
