// docs/configure.md, "Start on real services", done as it says: from nothing to an installed dataset on PostgreSQL, with psql.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import t from 'tap';
import { parse } from 'yaml';
import { commandBlock, runCommands } from '../support/command-blocks.ts';
import { testDatabase } from '../support/database.ts';
import { freePortBase, running, tempDir } from '../support/longshore.ts';

const dir = await tempDir(t);
const superuser = await testDatabase(t);
const base = await freePortBase();
const name = `${superuser.database}_i`.toLowerCase().replaceAll(/[^a-z0-9_]/g, '_');
const file = join(dir, 'longshore.yaml');
const env = { ...process.env, PGPASSWORD: superuser.password };

async function asSuperuser(sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client(superuser);
  await client.connect();
  return (await client.query(sql).finally(() => client.end())).rows;
}
t.teardown(async () => {
  for (const database of [name, `${name}_sites`]) await asSuperuser(`drop database if exists ${database} with (force)`);
  for (const role of [name, `${name}_data`]) await asSuperuser(`drop role if exists ${role}`);
});

/** What the page says, with the folder, the server, the names and the ports of this run. */
const here = (block: string): string =>
  block
    .replaceAll('longshore.yaml', file)
    .replaceAll('secrets/database.sql', join(dir, 'secrets', 'database.sql'))
    .replaceAll('127.0.0.1:5432', `127.0.0.1:${superuser.port} --name ${name} --port-base ${base}`)
    .replaceAll('-p 5432', `-p ${superuser.port}`)
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${base}`);

t.test('from config init to an installed dataset, as the page says', async (t) => {
  const said = await runCommands(here(commandBlock('initialized')), { env });
  t.match(said, /^cache database: applied 1, 2, 3/m);
  t.match(said, /^target SiteA: applied 1/m);
  t.match(said, /^\d+ checked: \d+ ok, \d+ with a warning, 0 failed$/m);
  const service = await running(t, ['serve', '--config', file]);
  const uploaded = await runCommands(here(commandBlock('initialUpload')), { env });
  // With --watch, it ends with 0 only if the dataset is installed.
  t.match(uploaded, /^\w{16}\n$/);
  const sites = new pg.Client({ ...superuser, database: `${name}_sites` });
  await sites.connect();
  const installed = await sites
    .query('select dataset_id from sitea_control.available_user_datasets')
    .finally(() => sites.end());
  t.same(installed.rows, [{ dataset_id: uploaded.trim() }]);
  const { installer } = parse(await readFile(file, 'utf8'));
  const [rows] = await asSuperuser(
    `select (select count(*) from pg_database where datname like '${name}%')::integer as databases,
       (select count(*) from pg_roles where rolname like '${name}%' and not rolsuper)::integer as roles`,
  );
  t.same(rows, { databases: 2, roles: 2 });
  t.equal(installer.cacheDb.name, name);
  t.equal(await service.stop(), 0);
});

t.test('the SQL can be run again', async (t) => {
  const psql = commandBlock('initialized')
    .split('\n')
    .find((line) => line.startsWith('psql'));
  await t.resolves(runCommands(here(psql ?? ''), { env }));
});
