// docs/migrating.md, done as it says, with the sample configuration for it, on what another installer left behind.

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import pg from 'pg';
import t, { type Test } from 'tap';
import { FormData, fetch } from 'undici';
import { writeSampleLaunchers } from '../../config/samples/launchers.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { issueToken, newKeyPair } from '../../http/kernel/auth/local-issuer.ts';
import { StrictClient } from '../compatibility/strict-client.ts';
import { detailsOf } from '../support/api.ts';
import { commandBlock, runCommands } from '../support/command-blocks.ts';
import { testDatabase } from '../support/database.ts';
import { longshore, ROOT, running } from '../support/longshore.ts';
import { freePortsInARow } from '../support/ports.ts';
import { blocks } from '../support/readmes.ts';
import {
  DELETED,
  FRIEND,
  GENES,
  INVALID,
  OLD,
  OLDER,
  OWNER,
  oldInstallation,
  REVISED,
  REVISION,
} from './old-installation.ts';

const PAGE = 'docs/migrating.md';
const page = { file: PAGE, text: await readFile(join(ROOT, PAGE), 'utf8') };
const PREFIX = 'EDAUD_';
const ORIGIN = 'https://alpha.example';
const BOTH = ['data complete', 'meta complete'];
const LOOK_MS = 100;
const PATIENCE_MS = 120_000;

const { dir, site, bucket, environment } = await oldInstallation(t);
const cache = await testDatabase(t);
const [port = 0, accessPort = 0, pluginPort = 0] = await freePortsInARow(3);
const [files, config] = [join(dir, 'sites'), join(dir, 'longshore.yaml')];
const keys = await newKeyPair();
const installerUrl = `http://127.0.0.1:${port}`;
const env = {
  ...process.env,
  ...environment,
  LONGSHORE_ADMIN_TOKEN: 'a'.repeat(40),
  LONGSHORE_ISSUER: 'accounts of the site',
  LONGSHORE_AUDIENCE: 'front ends of the site',
  LONGSHORE_PUBLIC_KEY_FILE: join(dir, 'key.pub.pem'),
  LONGSHORE_PORT: String(port),
  LONGSHORE_ACCESS_PORT: String(accessPort),
  CACHE_DB_SERVER: `${cache.host}:${cache.port}`,
  CACHE_DB_NAME: cache.database,
  CACHE_DB_USER: cache.user,
  CACHE_DB_PASSWORD: cache.password,
  GENELIST_PLUGIN_SERVER: `127.0.0.1:${pluginPort}`,
  GENELIST_SCRIPTS: encodeURI(join(dir, 'scripts', 'genelist')),
  SITE_FILES: encodeURI(files),
  SERVER: installerUrl,
};
await mkdir(files);
await writeFile(join(dir, 'key.pub.pem'), keys.publicKeyPem);
const sample = await readFile(join(ROOT, 'config', 'samples', 'migrated-site.yaml'), 'utf8');
await writeFile(config, sample, { mode: 0o600 });
await writeSampleLaunchers(join(dir, 'scripts'), [process.execPath, join(ROOT, 'bin', 'longshore.ts')]);

/** What the page says, with the role and the file of this run. */
const here = (text: string): string =>
  text.replaceAll(/\bsite_data\b/g, site.dataRole).replaceAll('longshore.yaml', config);
const run = (block: string): Promise<string> => runCommands(here(block), { env });

/** The one block of SQL that has these words. */
function sql(has: string): string {
  const found = blocks(page, 'sql').filter((block) => block.includes(has));
  if (found.length !== 1 || found[0] === undefined) throw new Error(`${PAGE} has ${found.length} blocks with '${has}'`);
  return here(found[0]);
}

/** Nobody knows of everything that is on its way through these servers: looked at until it is as expected. */
async function becomes(t: Test, expected: unknown, look: () => Promise<unknown>, what = ''): Promise<void> {
  for (const begun = Date.now(); ; await systemClock.sleep(LOOK_MS, new AbortController().signal)) {
    const found = await look();
    if (isDeepStrictEqual(found, expected) || Date.now() - begun > PATIENCE_MS)
      return void t.strictSame(found, expected, what);
  }
}

/** Rows as lines. */
const lines = async (text: string, ...values: readonly unknown[]): Promise<readonly string[]> =>
  (await site.query(text, values)).map((row) => Object.values(row).join(' '));
const installs = (id: string): Promise<unknown> =>
  lines(
    'select install_type, status from alpha_control_longshore.dataset_install_message where dataset_id = $1 order by 1',
    id,
  );
const genesOf = (id: string): Promise<unknown> =>
  lines('select gene_id from alpha_data_longshore.genelist where dataset_id = $1 order by 1', id);
async function stateOf(id: string): Promise<unknown> {
  const client = new pg.Client(cache);
  await client.connect();
  const { rows } = await client.query('select state from installer.dataset where dataset_id = $1', [id]);
  await client.end();
  return rows[0]?.state;
}

const token = (user: string): Promise<string> =>
  issueToken({
    privateKeyPem: keys.privateKeyPem,
    issuer: env.LONGSHORE_ISSUER,
    audience: env.LONGSHORE_AUDIENCE,
    subject: user,
    lifetimeSeconds: 3_600,
    claims: { given_name: 'A', family_name: 'Person', email: `user${user}@example.org` },
  });
const installer = async (user: string): Promise<StrictClient> =>
  new StrictClient(`${installerUrl}/dataset-service`, await token(user));

const before = await site.rows();

t.test('the commands set up schemas of our own beside those of the old installation', async (t) => {
  const said = await run(commandBlock('schemas'));
  for (const line of [
    /: ok, 1 enabled install target, 1 plugin$/m,
    /^cache database: applied 1,/m,
    /^target AlphaDB: applied 1\b/m,
  ])
    t.match(said, line);
  t.strictSame(await site.rows(), before);
});

t.test('foreign keys that lead to an old control schema are found, and made to lead to ours', async (t) => {
  t.strictSame(await site.query(sql('pg_get_constraintdef')), [
    {
      table: 'alpha_data.genelist',
      constraint: 'genelist_dataset_id_fkey',
      definition: 'FOREIGN KEY (dataset_id) REFERENCES alpha_control.dataset(dataset_id)',
    },
  ]);
  const ours = ['FOREIGN KEY (dataset_id) REFERENCES alpha_control_longshore.dataset(dataset_id)'];
  const keysOf = async (schema: string, more: pg.ClientConfig = {}): Promise<unknown> => {
    const text = `select pg_get_constraintdef(oid) as key from pg_constraint
      where contype = 'f' and conrelid = '${schema}.genelist'::regclass`;
    return (await site.query<{ key: string }>(text, [], more)).map(({ key }) => key);
  };
  const refused = { code: '23503', constraint: 'genelist_dataset' };
  const insert = (schema: string, more: pg.ClientConfig = {}) =>
    site.query(`insert into ${schema}.genelist values ('notInstalled', 'G1')`, [], more);

  const [database, elsewhere] = [`${site.db.database}_in_place`, { database: 'postgres' }];
  await site.query(`create database ${database} template ${site.db.database}`, [], elsewhere);
  t.teardown(() => site.query(`drop database ${database} with (force)`, [], elsewhere));
  const owner = site.asDataRole(database);
  await t.rejects(site.query(sql('drop constraint'), [], owner), { code: '42501' }, 'without the two rights');
  await site.query(sql('grant references'), [], { database });
  await site.query(sql('drop constraint'), [], owner);
  t.strictSame(await keysOf('alpha_data', { database }), ours);
  await t.rejects(insert('alpha_data', { database }), refused);
  t.strictSame(await site.query('select * from alpha_data.genelist', [], { database }), []);

  await site.query(sql('like alpha_data.genelist'));
  t.strictSame(await keysOf('alpha_data_longshore'), ours);
  await t.rejects(insert('alpha_data_longshore'), refused);
  t.strictSame(await site.rows(), before);
});

const plugin = await running(t, ['plugin', '--config', config, '--id', 'genelist'], { env });

t.test('everything is reached before the start', async (t) => {
  t.match(await run(commandBlock('reached')), / ok, 0 with a warning, 0 failed$/m);
});

t.test('the datasets of the bucket are installed on the site, from what was imported before', async (t) => {
  const live = [OLD, OLDER, REVISION];
  const etags = await bucket.etags(live);
  const service = await running(t, ['serve', '--config', config], { env });
  for (const id of live) {
    await becomes(t, BOTH, () => installs(id), id);
    t.strictSame(await genesOf(id), GENES, id);
  }
  t.strictSame(await bucket.etags(live), etags, 'no import was made again');
  t.strictSame((await readdir(join(files, 'longshore', 'AlphaDB'))).sort(), [...live].sort());
  await site.query(sql('create view'));
  await becomes(t, [`${OLDER} 8`, `${OLD} 8`, `${OLD} 9`, `${REVISION} 8`], () =>
    lines('select user_dataset_id, user_id from alpha_site.availableuserdatasets order by 1, 2'),
  );

  const owner = await installer(OWNER);
  const moved = await owner.get('dataset', `/datasets/${REVISED}`);
  t.strictSame([moved.status, moved.location], [301, `${installerUrl}/dataset-service/datasets/${REVISION}`]);
  const statusOf = async (id: string) => (await owner.get('dataset', `/datasets/${id}`)).status;
  t.strictSame([await statusOf(DELETED), await statusOf(REVISION)], [410, 200]);
  await becomes(t, 'invalid', async () => {
    const { body } = await owner.get('dataset', `/datasets/${INVALID}`);
    return (body as { status: { import: { status: string } } }).status.import.status;
  });

  const look = await run(commandBlock('compared'));
  for (const line of [/^in the store +6$/m, /^malformed +0$/m, /^absent +cache 0, AlphaDB 0$/m]) t.match(look, line);
  t.match(look, '{"details":[]}');
  t.same(owner.refused, []);
  t.equal(await service.stop(), 0);
});

t.test('a dataset goes through as a deployed front end sends it, and leaves nothing', async (t) => {
  const curated = join(ROOT, 'config', 'samples', 'access-studies.yaml');
  const imported = await longshore(['access', 'import', curated, '--config', config], { env });
  t.equal(imported.code, 0, imported.stderr);
  const service = await running(t, ['serve', '--config', config], { env });
  const [owner, friend] = [await installer(OWNER), await installer(FRIEND)];
  const { dependencies: _empty, ...details } = detailsOf('genelist', { installTargets: ['AlphaDB'] }) as {
    dependencies: unknown;
  };
  const form = new FormData();
  form.append('details', JSON.stringify(details));
  form.append('dataFile', new Blob([`${GENES[0]}\n`]), 'genes.txt');
  const { status, location, body: accepted } = await owner.send('accepted', 'POST', '/datasets', form);
  const { datasetId: id } = accepted as { datasetId: string };
  t.strictSame([status, location], [202, `${installerUrl}/dataset-service/datasets/${id}`]);
  await becomes(t, BOTH, () => installs(id));
  t.strictSame(await genesOf(id), [GENES[0]]);

  const credentials = { 'auth-key': await token(OWNER) };
  const send = async (method: string, path: string, body?: object): Promise<number> => {
    const content = body && { body: JSON.stringify(body) };
    const headers = { ...credentials, ...(content && { 'content-type': 'application/json' }) };
    return (await fetch(`${installerUrl}/dataset-service${path}`, { method, headers, ...content })).status;
  };
  t.equal(await send('PUT', `/datasets/${id}/shares/${FRIEND}/offer`, { action: 'grant' }), 204);
  const { body: shared } = await friend.get('datasets', '/datasets?ownership=shared');
  t.ok(
    (shared as { datasetId: string }[]).some(({ datasetId }) => datasetId === id),
    'the friend need not accept',
  );
  const studies = new StrictClient(`http://127.0.0.1:${accessPort}/study-access`, await token(OWNER));
  const { body: permissions } = await studies.get('permissions', '/permissions');
  const own = { [PREFIX + id]: { studyId: PREFIX + id, isUserStudy: true } };
  t.match(permissions, { perDataset: { ...own, SAMPLE_private: { studyId: 'STUDY_private' } } });
  const asked = await fetch(`${installerUrl}/dataset-service/plugins`, { headers: { ...credentials, origin: ORIGIN } });
  t.strictSame(
    ['access-control-allow-origin', 'api-version'].map((name) => asked.headers.get(name)),
    [ORIGIN, '1.8.0'],
  );

  t.equal(await send('DELETE', `/datasets/${id}`), 204);
  await becomes(t, 'deleted', () => stateOf(id));
  t.strictSame(await genesOf(id), []);
  const pruned = await longshore(['prune', '--server', installerUrl, '--age-cutoff', '0s', '--wait'], { env });
  t.equal(pruned.code, 0, pruned.stderr);
  await becomes(t, undefined, () => stateOf(id));
  const rows = await lines('select dataset_id from alpha_control_longshore.dataset where dataset_id = $1', id);
  t.strictSame(rows, [], 'the foreign key is in the way of nothing');
  t.same(
    [owner, friend, studies].flatMap(({ refused }) => refused),
    [],
  );
  t.equal(await service.stop(), 0);
});

t.test('the old installation can go back to schemas and files that are as it left them', async (t) => {
  t.strictSame(await site.rows(), before);
  t.strictSame(await readdir(files), ['longshore']);
  t.equal(await plugin.stop(), 0);
});
