// What must hold once nothing is left to do: every dataset installed, exactly once on each target, and nothing unfinished.

import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { connect } from 'amqplib';
import pg from 'pg';
import { systemClock } from '../../../engine/runtime/time.ts';
import { TARGETS } from '../installation.ts';
import type { Findings } from './findings.ts';
import { partitionsBehind } from './kafka-group.ts';
import { TABLE } from './row-plugin.ts';
import { SCHEMAS, type Site } from './site.ts';
import { genesOf, type Uploads } from './uploads.ts';

type FindingsOf = Pick<Findings, 'none' | 'holds'>;
type Target = (typeof TARGETS)[number];

interface CacheRow {
  readonly id: string;
  readonly owner: string;
  readonly name: string;
  readonly said: string;
}

interface ControlRow {
  readonly id: string;
  readonly said: string;
}

interface DataRow {
  readonly id: string;
  readonly genes: readonly string[];
}

/** Several times the interval at which offsets are committed. */
const READERS_MS = 60_000;
const LOOK_MS = 1_000;
const never = new AbortController().signal;
export const OBJECTS = ['import-ready.zip', 'install-ready.zip', 'vdi-manifest.json', 'vdi-meta.json'];
const CACHE = `
  select d.dataset_id as id, d.owner_id::text as owner, d.name,
    concat_ws(' ', d.state, d.upload_status, d.import_status, (select string_agg(concat_ws(' ', target_id, kind, status), ' '
      order by target_id, kind) from installer.install_status s where s.dataset_id = d.dataset_id)) as said
  from installer.dataset d`;
const CACHE_SAYS =
  'live success complete AlphaDB data complete AlphaDB meta complete BetaDB data complete BetaDB meta complete';
const CONTROL_SAYS = '0 data complete meta complete';

/** While the processes run. */
export async function checkDatasets(site: Site, uploads: Uploads, findings: FindingsOf): Promise<void> {
  const { at, plugin } = site;
  const datasets = await query<CacheRow>(at.cache, CACHE);
  const byName = Map.groupBy(datasets, ({ name }) => name);
  findings.none('every upload that was accepted is there, and no other', [
    ...[...uploads.accepted].filter(([name, id]) => !byName.get(name)?.some((one) => one.id === id)).map(String),
    ...[...byName].filter(([name, all]) => all.length > 1 && !uploads.doubtful.has(name)).map(([name]) => name),
  ]);
  findings.none('uploads are accepted, or asked for again (429, 503)', uploads.wrong);
  findings.none(
    'the cache says that every dataset is installed',
    datasets.filter(({ said }) => said !== CACHE_SAYS).map(({ id, said }) => `${id} ${said}`),
  );
  for (const target of TARGETS) {
    findings.none(`${target} says so too, once for each`, await controlFaults(site, target, datasets));
    findings.none(`${target} has the rows of each dataset exactly once`, await dataFaults(site, target, datasets));
  }
  findings.none('an install follows another only after an uninstall', reinstalls(site));
  findings.none('the plugin could serve every call', plugin.faults);
  findings.none('the store has what belongs to the datasets, and nothing else', await objectFaults(site, datasets));
  findings.none('no put is left half done in the store', await unfinishedPuts(site));
  const jobs = await query<{ job: string }>(
    at.cache,
    "select concat_ws(' ', lane, state, message) as job from installer.job",
  );
  findings.none(
    'no job is left, dead or alive',
    jobs.map(({ job }) => job),
  );
  const uploading = await query<{ id: string }>(
    at.cache,
    "select dataset_id as id from installer.upload where state <> 'stored'",
  );
  findings.none(
    'no upload is under way',
    uploading.map(({ id }) => id),
  );
}

/**
 * While the processes run: what is removed last (parts of uploads that were given up) is announced, and read, after
 * all other parts have stopped. Resolves when all of it is committed, or when there has been time enough.
 */
export async function waitForReaders(site: Site): Promise<void> {
  for (const begun = systemClock.now(); systemClock.now() - begun < READERS_MS; ) {
    if ((await waitingChanges(site)) === 0 && (await partitionsBehind(site.at)).length === 0) return;
    await systemClock.sleep(LOOK_MS, never);
  }
}

/** After they were stopped: what was handed to them and not acknowledged would be back in the queue. */
export async function checkQueues(site: Site, findings: FindingsOf): Promise<void> {
  findings.none('what Kafka has is read and committed', await partitionsBehind(site.at));
  findings.holds(
    'the queue is empty',
    (await waitingChanges(site)) === 0,
    `${await waitingChanges(site)} changes wait`,
  );
  findings.none('no process left a file behind', await scratchFiles(site));
  findings.none(
    'no process ended by itself',
    site.processes.flatMap(({ endedAlone }) => endedAlone),
  );
}

async function controlFaults({ at }: Site, target: Target, datasets: readonly CacheRow[]): Promise<readonly string[]> {
  const schema = SCHEMAS[target].control;
  const rows = await query<ControlRow>(
    at.sites[target],
    `select d.dataset_id as id, concat_ws(' ', i.deleted_status, (select string_agg(install_type || ' ' || status, ' '
        order by install_type) from ${schema}.dataset_install_message m where m.dataset_id = d.dataset_id)) as said
      from ${schema}.dataset d left join ${schema}.dataset_install i using (dataset_id)`,
  );
  return [
    ...missing(datasets, rows),
    ...rows.filter(({ said }) => said !== CONTROL_SAYS).map(({ id, said }) => `${id} ${said}`),
  ];
}

async function dataFaults({ at }: Site, target: Target, datasets: readonly CacheRow[]): Promise<readonly string[]> {
  const names = new Map(datasets.map(({ id, name }) => [id, name]));
  const rows = await query<DataRow>(
    at.sites[target],
    `select dataset_id as id, array_agg(gene order by gene) as genes from ${SCHEMAS[target].data}.${TABLE} group by 1`,
  );
  const wrong = rows.filter(({ id, genes }) => genes.join() !== [...genesOf(names.get(id) ?? '')].sort().join());
  return [...missing(datasets, rows), ...wrong.map(({ id, genes }) => `${id} has ${genes.length} rows`)];
}

/** Both ways. */
function missing(datasets: readonly CacheRow[], rows: readonly { readonly id: string }[]): readonly string[] {
  const [known, there] = [new Set(datasets.map(({ id }) => id)), new Set(rows.map(({ id }) => id))];
  return [
    ...[...known].filter((id) => !there.has(id)).map((id) => `${id} is not there`),
    ...rows.filter(({ id }) => !known.has(id)).map(({ id }) => `${id} is no dataset`),
    ...(rows.length === there.size ? [] : ['some are there twice']),
  ];
}

export function reinstalls({ plugin }: Site): readonly string[] {
  return [...plugin.calls].flatMap(([key, calls]) => {
    const effective = calls.filter(({ kind, cut }) => !cut && (kind === 'install-data' || kind === 'uninstall'));
    const twice = effective.some(({ kind }, i) => kind === 'install-data' && effective[i - 1]?.kind === 'install-data');
    return twice ? [`${key}: ${effective.map(({ kind }) => kind).join(', ')}`] : [];
  });
}

async function objectFaults({ at }: Site, datasets: readonly CacheRow[]): Promise<readonly string[]> {
  const expected = new Set(datasets.flatMap(({ owner, id }) => OBJECTS.map((name) => `${owner}/${id}/${name}`)));
  const strange: string[] = [];
  for await (const { name } of at.store.client().listObjectsV2(at.bucket, '', true) as AsyncIterable<{ name: string }>)
    if (!expected.delete(name)) strange.push(name);
  return [...strange, ...[...expected].map((key) => `${key} is not there`)];
}

export async function unfinishedPuts({ at }: Site): Promise<readonly string[]> {
  const keys: string[] = [];
  const listing = at.store.client().listIncompleteUploads(at.bucket, '', true) as AsyncIterable<{ key: string }>;
  for await (const { key } of listing) keys.push(key);
  return keys;
}

async function waitingChanges({ at }: Site): Promise<number> {
  const model = await connect(`amqp://127.0.0.1:${at.rabbit.port}`);
  const channel = await model.createChannel();
  const { messageCount } = await channel.checkQueue('object-changes-of-longshore');
  await model.close();
  return messageCount;
}

/** Of the folders that `serve` works in. */
async function scratchFiles({ at }: Site): Promise<readonly string[]> {
  const start = `longshore-${createHash('sha256').update(resolve(at.file)).digest('hex').slice(0, 12)}-`;
  const folders = (await readdir(tmpdir())).filter((name) => name.startsWith(start));
  const files = await Promise.all(
    folders.map(async (folder) => {
      const found = await readdir(join(tmpdir(), folder), { recursive: true, withFileTypes: true });
      return found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    }),
  );
  return files.flat();
}

export async function query<Row extends pg.QueryResultRow>(
  connection: pg.ClientConfig,
  sql: string,
): Promise<readonly Row[]> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}
