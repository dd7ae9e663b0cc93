// One installation with a target on PostgreSQL and a target on MariaDB, set up as an operator would. A dataset's whole life,
// after each step of which all rows of both sites are compared.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { fetch } from 'undici';
import { parse, stringify } from 'yaml';
import { withMariaDb } from '../../engine/adapters/mariadb/mariadb.ts';
import { Api, detailsOf } from '../support/api.ts';
import { FRIEND, life, OWNER } from '../support/life.ts';
import { freePortBase, longshore, tempDir, up } from '../support/longshore.ts';
import { type Places, placesOfUp, type Site } from '../support/places.ts';
import { settled, wholeState } from '../support/site-state.ts';
import { mariaDbServer, PASSWORD } from './mariadb.ts';

const never = new AbortController().signal;
const server = await mariaDbServer(t);
const { database, ...connection } = await server.makeDatabase('beta_data');
await server.query('grant all on `beta_control`.* to `beta_data`@`127.0.0.1`');
const SCHEMAS = { dataDb: database, controlDb: 'beta_control' };

const dir = await tempDir(t);
const file = join(dir, 'config.yaml');
const ports = ['--port-base', String(await freePortBase())];
const doctor = async () => {
  const { stdout } = await longshore(['doctor', '--config', file, '--json']);
  const { dependencies } = JSON.parse(stdout) as { dependencies: readonly { name: string }[] };
  return dependencies.filter(({ name }) => name.includes('BetaDB'));
};
const ofUp = placesOfUp(dir);
const places: Places = {
  ...ofUp,
  queryTarget: (site, which, text, values) =>
    site === 'BetaDB' ? queryMariaDb(which, text, values) : ofUp.queryTarget(site, which, text, values),
};

t.test('an installation with both platforms', async (t) => {
  await t.test('the configuration that up wrote gets a target on MariaDB', async (t) => {
    await (await up(t, dir, ports)).stop();
    const config = parse(await readFile(file, 'utf8')) as { installer: { installTargets: Record<string, object>[] } };
    const [, beta] = config.installer.installTargets;
    if (!beta) throw new Error('no second target');
    const at = { server: `127.0.0.1:${server.port}`, name: database, username: database, password: PASSWORD };
    for (const [which, schema] of Object.entries(SCHEMAS)) beta[which] = { ...at, platform: 'mariadb', schema };
    await writeFile(file, stringify(config));
    t.match(await longshore(['config', 'check', file]), { code: 0 });
  });

  await t.test('doctor says what is missing, and migrate-target makes it', async (t) => {
    const command = `longshore migrate-target BetaDB --config ${file}`;
    t.match(await doctor(), [
      {
        name: 'target BetaDB control, target BetaDB data',
        says: /^MariaDB 1\d\./,
        problems: [
          {
            problem: 'target BetaDB control: schema beta_control is missing, or beta_data may do nothing there',
            fix: new RegExp(`GRANT ALL ON \`beta_control\`.* TO 'beta_data'@'%'; then ${command}$`),
          },
        ],
      },
    ]);
    const migrate = () => longshore(['migrate-target', 'BetaDB', '--config', file]);
    t.match(await migrate(), { code: 0, stdout: 'target BetaDB: applied 1\n' });
    t.match(await migrate(), { code: 0, stdout: 'target BetaDB: up to date\n' });
    t.match(await doctor(), [{ problems: [] }]);
  });

  const app = await up(t, dir, ports);
  const asClient = async (user: string) => new Api(app.endpoints.installer, await app.token(user));
  const owner = await asClient(OWNER);
  await t.test('after each step of its life, both sites have the same rows', async (t) => {
    await life(t, {
      owner,
      friend: await asClient(FRIEND),
      async stateOf(id) {
        await settled(dir);
        t.strictSame(await rowsOf('BetaDB', id), await rowsOf('AlphaDB', id));
        return wholeState(places, OWNER, id, 'genelist');
      },
      prune: (...args) => longshore(['prune', '--data', dir, ...args]),
    });
  });

  await t.test('a target that is away makes the service degraded, and gets its datasets when it is back', async (t) => {
    const online = async () => {
      const { dependencies } = (await (await fetch(`${app.endpoints.installer}/health`)).json()) as {
        dependencies: readonly { name: string; online: string }[];
      };
      return dependencies.filter(({ name }) => name.startsWith('target')).map((one) => `${one.name} ${one.online}`);
    };
    t.same(await online(), ['target AlphaDB yes', 'target BetaDB yes']);
    await server.stop();
    t.same(await online(), ['target AlphaDB yes', 'target BetaDB unknown']);
    const id = await owner.upload(detailsOf('genelist'), [{ name: 'genes.txt', content: 'g1\ng2\n' }]);
    await server.start();
    await settled(dir, 120_000);
    t.same(await online(), ['target AlphaDB yes', 'target BetaDB yes']);
    const beta = await rowsOf('BetaDB', id);
    t.equal(beta.genelist?.length, 2);
    t.strictSame(beta, await rowsOf('AlphaDB', id));
  });
});

async function queryMariaDb<Row extends object>(
  which: keyof typeof SCHEMAS,
  text: string,
  values: readonly unknown[],
): Promise<Row[]> {
  const rows = await withMariaDb(
    { ...connection, database: SCHEMAS[which] },
    async (sql) => {
      await sql.query("set session sql_mode = concat(@@sql_mode, ',ANSI_QUOTES,PIPES_AS_CONCAT')");
      return sql.query<Row>(text.replaceAll(/\$\d+/g, '?'), values);
    },
    never,
  );
  return rows.map((row) => ({ ...row }));
}

const CONTROL = [
  ...['dataset', 'dataset_install', 'dataset_project', 'dataset_install_message', 'sync_control', 'dataset_visibility'],
  ...['dataset_meta', 'dataset_characteristics', 'dataset_organism', 'dataset_dependency', 'dataset_publication'],
  ...['dataset_hyperlink', 'dataset_contact', 'dataset_funding_award', 'dataset_country', 'dataset_species'],
  ...['dataset_outcome', 'dataset_associated_factor', 'dataset_sample_type', 'dataset_doi', 'dataset_bioproject_id'],
  ...['dataset_link', 'dataset_source', 'available_user_datasets'],
];
/** When it was written, by whom, and what only one of the platforms has. */
const OWN: ReadonlySet<string> = new Set(['updated', 'lease_token', 'store_order']);

/** All rows of a dataset on a site, by table, but for what belongs to one site alone. */
async function rowsOf(site: Site, dataset: string): Promise<Record<string, readonly string[]>> {
  const found: Record<string, readonly string[]> = {};
  const read = async (which: keyof typeof SCHEMAS, table: string): Promise<void> => {
    const rows = await places.queryTarget<Record<string, unknown>>(
      site,
      which,
      `select * from ${table} where dataset_id = $1`,
      [dataset],
    );
    found[`${which === 'dataDb' && table === 'dataset_meta' ? 'installed ' : ''}${table}`] = rows
      .map((row) =>
        JSON.stringify(
          Object.entries(row)
            .filter(([name]) => !OWN.has(name))
            .map(([name, value]) => [name, plain(value)]),
        ),
      )
      .map((row) => row.replaceAll(site, 'site'))
      .sort();
  };
  for (const table of CONTROL) await read('controlDb', table);
  for (const table of ['dataset_meta', 'genelist']) await read('dataDb', table);
  return found;
}

/** MariaDB has no booleans, and keeps JSON as text. The driver of PostgreSQL returns some numbers as text. */
function plain(value: unknown): unknown {
  if (typeof value === 'boolean') return String(Number(value));
  if (typeof value === 'string' && /^[[{]/.test(value)) return plain(JSON.parse(value));
  if (typeof value !== 'object' || value === null || value instanceof Date)
    return typeof value === 'number' ? String(value) : value;
  return Array.isArray(value) ? value : Object.fromEntries(Object.entries(value).sort());
}
