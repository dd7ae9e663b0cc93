// What every place must say once nothing is left to do: what the last accepted request said, and nothing else.

import { createHash } from 'node:crypto';
import { unzip } from '../../support/unzip.ts';
import type { Installation } from '../installation.ts';
import { TARGETS } from '../installation.ts';
import { OBJECTS, query, reinstalls, unfinishedPuts } from '../scale-out/end-state.ts';
import { TABLE } from '../scale-out/row-plugin.ts';
import { SCHEMAS, type Site } from '../scale-out/site.ts';
import { genesOf } from '../scale-out/uploads.ts';
import type { Dataset, Model } from './model.ts';

type Target = (typeof TARGETS)[number];
/** What is wrong, by what should hold. */
export type Faults = Readonly<Record<string, readonly string[]>>;

interface CacheRow {
  readonly id: string;
  readonly said: string;
}

interface SiteRow extends CacheRow {
  readonly gone: boolean;
}

const INSTALLED =
  'success complete AlphaDB data complete AlphaDB meta complete BetaDB data complete BetaDB meta complete';
const CACHE = `
  select d.dataset_id as id, concat_ws(' ', d.state, d.metadata ->> 'summary', case when d.state = 'live' then concat_ws(' ',
    d.upload_status, d.import_status, (select string_agg(concat_ws(' ', target_id, kind, status), ' '
      order by target_id, kind) from installer.install_status s where s.dataset_id = d.dataset_id)) end,
    (select string_agg(concat_ws(' ', recipient_id, offer, receipt), ' ' order by recipient_id)
      from installer.dataset_share s where s.dataset_id = d.dataset_id)) as said
  from installer.dataset d`;
const AT_ONCE = 8;

/** From the databases alone: cheap enough to be asked until it holds. */
export async function rowFaults({ at }: Site, model: Model): Promise<Faults> {
  const faults: Record<string, readonly string[]> = {};
  const all = [...model.datasets.values()];
  faults['the cache says of every dataset what the last accepted request said, and has no other'] = unlike(
    all.map((one) => [one.id, cacheSays(one)]),
    (await query<CacheRow>(at.cache, CACHE)).map(({ id, said }) => [id, said]),
  );
  for (const target of TARGETS) {
    faults[`${target} shows each live dataset once, as edited, to those who accepted it`] = await controlFaults(
      at,
      target,
      all,
    );
    faults[`${target} has the rows of each live dataset exactly once, and no others`] = unlike(
      all.filter(isLive).map(({ id, content }) => [id, [...genesOf(content)].sort().join()]),
      await rowsOf(at, target),
    );
  }
  const left = async (sql: string): Promise<readonly string[]> =>
    (await query<{ what: string }>(at.cache, sql)).map(({ what }) => what);
  faults['no job is left, dead or alive'] = await left(
    "select concat_ws(' ', lane, dataset_id, state, message) as what from installer.job",
  );
  faults['no upload is under way'] = [
    ...(await left("select dataset_id as what from installer.upload where state <> 'stored'")),
    ...(await left("select concat_ws(' ', id, state, file_name) as what from installer.resumable_upload")),
  ];
  faults['no lease and no attempt is left'] = [
    ...(await left("select name as what from installer.lease where holder is not null and name not like 'daemon:%'")),
    ...(await left('select dataset_id as what from installer.install_attempt')),
  ];
  faults['every report is made, and no other'] = unlike(
    [...model.reports].map((id) => [id, 'complete']),
    (await query<CacheRow>(at.cache, 'select id, status as said from report.report_job')).map((one) => [
      one.id,
      one.said,
    ]),
  );
  faults['every request for access was decided as its owner said'] = unlike(
    [...model.access],
    (
      await query<CacheRow>(
        at.cache,
        "select user_id || ' ' || dataset_id as id, approval_status as said from access.end_user",
      )
    ).map(({ id, said }) => [id, said]),
  );
  return faults;
}

/** From the store: what it has of each dataset and report, byte for byte where a large file was uploaded. */
export async function storeFaults(site: Site, model: Model): Promise<Faults> {
  const { at, plugin } = site;
  const sizes = new Map<string, number>();
  const listing = at.store.client().listObjectsV2(at.bucket, '', true) as AsyncIterable<{ name: string; size: number }>;
  for await (const { name, size } of listing) sizes.set(name, size);
  const documents: string[] = [];
  const contents: string[] = [];
  const left = [...model.datasets.values()].filter(isLive).values();
  const worker = async (): Promise<void> => {
    for (const dataset of left)
      try {
        documents.push(...(await documentFaults(at, dataset)));
        if (!(await hasContent(at, dataset))) contents.push(dataset.id);
      } catch (error) {
        documents.push(`${dataset.id}: ${error}`);
      }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return {
    'the store has what belongs to the datasets and reports, and nothing else': await objectFaults(at, model, sizes),
    'the store has the documents that were accepted last': documents,
    'large files are stored as they were sent': contents,
    'no put is left half done in the store': await unfinishedPuts(site),
    'quotas count what the store has': await quotaFaults(at, sizes),
    'an install follows another only after an uninstall': reinstalls(site),
    'the plugin could serve every call': plugin.faults,
  };
}

async function objectFaults(
  at: Installation,
  model: Model,
  sizes: ReadonlyMap<string, number>,
): Promise<readonly string[]> {
  const files = await query<{ key: string; size: string }>(
    at.cache,
    `select 'reports/' || j.id || '/' || j.attempt || '/' || f.name as key, f.size
      from report.report_job j join report.report_file f on f.report_id = j.id`,
  );
  const known = new Set(files.map(({ key }) => key));
  const faults = files
    .filter(({ key, size }) => sizes.get(key) !== Number(size))
    .map(({ key, size }) => `${key} has ${sizes.get(key)} bytes, not ${size}`);
  for (const dataset of model.datasets.values()) {
    const prefix = `${dataset.owner}/${dataset.id}/`;
    const { required, allowed } = objectsOf(dataset);
    for (const name of [...required, ...allowed]) known.add(prefix + name);
    for (const name of required) if (!sizes.has(prefix + name)) faults.push(`${prefix + name} is not there`);
  }
  return [...faults, ...[...sizes.keys()].filter((key) => !known.has(key))];
}

async function documentFaults(at: Installation, dataset: Dataset): Promise<readonly string[]> {
  const { owner, id, summary, shares } = dataset;
  const read = async (name: string): Promise<Readonly<Record<string, unknown>>> =>
    JSON.parse((await bytesOf(at, `${owner}/${id}/${name}`)).toString());
  const faults: string[] = [];
  const is = async (name: string, key: string, word: string): Promise<void> => {
    const said = (await read(name))[key];
    if (said !== word) faults.push(`${id}/${name}: ${said}, not ${word}`);
  };
  await is('vdi-meta.json', 'summary', summary);
  for (const [recipient, { offer, receipt }] of shares) {
    await is(`shares/${recipient}/share-offer.json`, 'action', offer);
    if (receipt) await is(`shares/${recipient}/share-receipt.json`, 'action', receipt);
  }
  return faults;
}

async function hasContent(at: Installation, { owner, id, digest }: Dataset): Promise<boolean> {
  if (digest === undefined) return true;
  const bytes = (await unzip(await bytesOf(at, `${owner}/${id}/import-ready.zip`))).get('large.bin');
  return bytes !== undefined && createHash('sha256').update(bytes).digest('hex') === digest;
}

const bytesOf = async (at: Installation, key: string): Promise<Buffer> =>
  Buffer.concat(await (await at.store.client().getObject(at.bucket, key)).toArray());

const isLive = ({ state }: Dataset): boolean => state === 'live';

function cacheSays({ state, summary, shares }: Dataset): string {
  const said = [...shares]
    .sort(([a], [b]) => Number(a) - Number(b))
    .map(([user, { offer, receipt }]) => [user, offer, receipt]);
  return [state, summary, state === 'live' ? INSTALLED : [], ...said].flat().filter(Boolean).join(' ');
}

async function controlFaults(at: Installation, target: Target, all: readonly Dataset[]): Promise<readonly string[]> {
  const schema = SCHEMAS[target].control;
  const rows = await query<SiteRow>(
    at.sites[target],
    `select d.dataset_id as id, i.deleted_status = 1 as gone, concat_ws(' ', i.deleted_status, m.summary,
        (select string_agg(install_type || ' ' || status, ' ' order by install_type)
          from ${schema}.dataset_install_message s where s.dataset_id = d.dataset_id),
        (select string_agg(v.user_id::text, ' ' order by v.user_id)
          from ${schema}.dataset_visibility v where v.dataset_id = d.dataset_id)) as said
      from ${schema}.dataset d left join ${schema}.dataset_install i using (dataset_id)
        left join ${schema}.dataset_meta m using (dataset_id)`,
  );
  const ended = new Set(all.filter((one) => !isLive(one)).map(({ id }) => id));
  return unlike(
    all.filter(isLive).map((one) => [one.id, `0 ${one.summary} data complete meta complete ${shownTo(one).join(' ')}`]),
    rows.filter(({ id, gone }) => !(gone && ended.has(id))).map(({ id, said }) => [id, said]),
  );
}

function shownTo({ owner, shares }: Dataset): readonly string[] {
  const accepted = [...shares].filter(([, { offer, receipt }]) => offer === 'grant' && receipt === 'accept');
  return [owner, ...accepted.map(([user]) => user)].sort((a, b) => Number(a) - Number(b));
}

async function rowsOf(at: Installation, target: Target): Promise<readonly (readonly [string, string])[]> {
  const rows = await query<{ id: string; genes: readonly string[] }>(
    at.sites[target],
    `select dataset_id as id, array_agg(gene) as genes from ${SCHEMAS[target].data}.${TABLE} group by 1`,
  );
  return rows.map(({ id, genes }) => [id, [...genes].sort().join()]);
}

/** Below the dataset's prefix. */
function objectsOf({ state, shares }: Dataset): Readonly<Record<'required' | 'allowed', readonly string[]>> {
  const said = [...shares].flatMap(([recipient, { receipt }]) =>
    ['share-offer.json', ...(receipt ? ['share-receipt.json'] : [])].map((name) => `shares/${recipient}/${name}`),
  );
  if (state === 'live') return { required: [...OBJECTS, ...said], allowed: [] };
  const flag = state === 'deleted' ? 'delete-flag' : 'revised-flag';
  const allowed = [...OBJECTS, ...(state === 'deleted' ? ['revised-flag'] : [])];
  return { required: ['vdi-meta.json', flag, ...said], allowed };
}

async function quotaFaults(at: Installation, sizes: ReadonlyMap<string, number>): Promise<readonly string[]> {
  const kept = new Map<string, number>();
  for (const [key, size] of sizes) {
    const [owner = ''] = key.split('/');
    if (/^\d+$/.test(owner)) kept.set(owner, (kept.get(owner) ?? 0) + size);
  }
  const rows = await query<{ owner: string; bytes: string }>(
    at.cache,
    'select owner_id::text as owner, bytes from installer.owner_usage',
  );
  return unlike(
    [...kept].map(([owner, bytes]) => [owner, String(bytes)]),
    rows.map(({ owner, bytes }) => [owner, bytes]),
  );
}

/** Both ways, and what is there twice. */
function unlike(
  expected: readonly (readonly [string, string])[],
  there: readonly (readonly [string, string])[],
): readonly string[] {
  const wanted = new Map(expected);
  const found = new Map(there);
  return [
    ...(found.size === there.length ? [] : ['some are there twice']),
    ...[...wanted].filter(([id]) => !found.has(id)).map(([id]) => `${id} is not there`),
    ...[...found].flatMap(([id, said]) => {
      const should = wanted.get(id);
      if (should === undefined) return [`${id} belongs to nothing: ${said}`];
      return should === said ? [] : [`${id}: ${said}, not ${should}`];
    }),
  ];
}
