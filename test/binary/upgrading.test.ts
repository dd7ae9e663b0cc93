// The commands of config/deploy/UPGRADING.md on a service with a PostgreSQL of its own: backed up while it runs, restored after
// more has happened, its cache built anew; only the places are replaced. Needs PostgreSQL of Debian, which has pg_dump.

import { globSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pg from 'pg';
import t, { type Test } from 'tap';
import { startEmbeddedPostgres } from '../../engine/adapters/embedded-postgres/embedded-postgres.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { commandBlock, runCommands } from '../support/command-blocks.ts';
import type { TestDatabase } from '../support/database.ts';
import { longshore, type Running, running, tempDir } from '../support/longshore.ts';
import { freePort } from '../support/ports.ts';
import { type ServedSite, servedSite } from '../support/served-site.ts';

const PASSWORD = 'longshore-tests';
/** Of the newest version, whose pg_dump reads what its server writes. */
const binDir = dirname(globSync('/usr/lib/postgresql/*/bin/pg_dump').sort().at(-1) ?? '');

async function databases(t: Test): Promise<{ readonly cache: TestDatabase; readonly sites: TestDatabase }> {
  const dir = await tempDir(t);
  await chmod(dir, 0o711); // the server runs as a user without rights when we are root
  const port = await freePort();
  const server = await startEmbeddedPostgres(
    { dir, port, password: PASSWORD, binDir, unsafeFast: true },
    systemClock,
    silentLogger(),
    new AbortController().signal,
  );
  t.teardown(() => server.stop());
  const login = { host: '127.0.0.1', port, user: 'postgres', password: PASSWORD };
  await query({ ...login, database: 'postgres' }, 'create database cache', 'create database sites');
  return { cache: { ...login, database: 'cache' }, sites: { ...login, database: 'sites' } };
}

async function query(db: TestDatabase, ...statements: readonly string[]): Promise<readonly object[]> {
  const client = new pg.Client(db);
  await client.connect();
  try {
    let rows: readonly object[] = [];
    for (const statement of statements) rows = (await client.query(statement)).rows;
    return rows;
  } finally {
    await client.end();
  }
}

const url = ({ host, port, user, database }: TestDatabase): string =>
  `postgresql://${user}@${host}:${port}/${database}`;

/** Resolves once a row of the table has that text in its column: rows tell of themselves, nobody asks again and again. */
async function becomes(db: TestDatabase, table: string, column: string, wanted: string): Promise<void> {
  const client = new pg.Client(db);
  await client.connect();
  try {
    const told = Promise.withResolvers<void>();
    client.on('notification', ({ payload }) => {
      if (payload === wanted) told.resolve();
    });
    await client.query(`create or replace function public.tell_${column}() returns trigger language plpgsql as
      $$ begin perform pg_notify('becomes', new.${column}); return new; end $$`);
    await client.query(`create or replace trigger tell_${column} after insert or update on ${table}
      for each row execute function public.tell_${column}()`);
    await client.query('listen becomes');
    const { rows } = await client.query(`select from ${table} where ${column} = $1`, [wanted]);
    if (rows.length === 0) await told.promise;
  } finally {
    await client.end();
  }
}

/** The commands with the places of the test, in a folder of their own. */
async function run(block: string, site: ServedSite, dbs: Awaited<ReturnType<typeof databases>>) {
  const env = {
    PATH: `${binDir}:${dirname(process.execPath)}:${process.env.PATH}`,
    PGPASSWORD: PASSWORD,
    CACHE: url(dbs.cache),
    SITES: url(dbs.sites),
    OBJECTS: site.objects,
  };
  const cwd = join(site.dir, 'backup');
  await mkdir(cwd, { recursive: true });
  return runCommands(block.replaceAll(' FILE', ` ${site.file}`), { cwd, env });
}

async function wholeRun(site: ServedSite): Promise<void> {
  const ended = await longshore([
    ...['reconcile', '--wait', '--server', site.installer],
    ...['--admin-token', site.adminToken],
  ]);
  if (ended.code !== 0) throw new Error(ended.stderr);
}

t.test('a backup is taken, restored, and a lost cache is built anew', { timeout: 180_000 }, async (t) => {
  const dbs = await databases(t);
  const site = await servedSite(t, dbs.cache, dbs.sites);
  await longshore(['migrate', '--config', site.file]);
  await longshore(['migrate-target', 'SiteA', '--config', site.file]);
  await running(t, ['plugin', '--config', site.file, '--id', 'genes']);
  const serve = (): Promise<Running> => running(t, ['serve', '--config', site.file]);
  const token = (await longshore(['token', '--config', site.file, '--user', '8'])).stdout.trim();
  const api = new Api(site.installer, token);
  const upload = async (name: string): Promise<string> => {
    const details = { ...detailsOf('genelist', { installTargets: ['SiteA'] }), name };
    const id = await api.upload(details, [{ name: 'genes.txt', content: geneList(20) }]);
    await longshore(['watch', id, '--server', site.installer, '--token', token]);
    return id;
  };
  const rename = (id: string, name: string): Promise<number> =>
    api.send('PATCH', `/datasets/${id}`, { name: { value: name } });
  const shown = (name: string): Promise<void> => becomes(dbs.sites, 'site_control.dataset_meta', 'name', name);
  const names = async (): Promise<readonly string[]> =>
    ((await api.json('/datasets')) as { readonly name: string }[]).map(({ name }) => name);

  let service = await serve();
  const kept = await upload('as it was backed up');
  await run(commandBlock('backup'), site, dbs);

  t.equal(await rename(kept, 'changed since'), 204);
  await shown('changed since');
  await upload('uploaded since');
  t.equal(await service.stop(), 0);

  await run(commandBlock('restore'), site, dbs);
  service = await serve();
  await wholeRun(site);
  t.same(await names(), ['as it was backed up']);
  t.equal(await rename(kept, 'changed after the restore'), 204);
  await shown('changed after the restore');
  t.equal(await service.stop(), 0);

  await run(commandBlock('rebuild'), site, dbs);
  service = await serve();
  await becomes(dbs.cache, 'installer.dataset', 'dataset_id', kept);
  t.same(await names(), ['changed after the restore']);
  t.equal(await service.stop(), 0);
});

t.test('a program refuses a schema that is newer than it knows', async (t) => {
  const dbs = await databases(t);
  const site = await servedSite(t, dbs.cache, dbs.sites);
  await longshore(['migrate', '--config', site.file]);
  const [newest] = await query(
    dbs.cache,
    `insert into installer.migration (number, name, checksum) values (999, 'later', 'x')`,
    'select max(number) as known from installer.migration where number < 999',
  );
  const { known } = newest as { readonly known: number };
  const says = `schema installer has migration 999; this program knows ${known}\n`;
  for (const command of ['serve', 'migrate'])
    t.match(await longshore([command, '--config', site.file]), { code: 1, stderr: says }, command);
});
