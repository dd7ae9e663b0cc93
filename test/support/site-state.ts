// Everything that an installation says about one dataset, from the places themselves: cache rows, objects, control rows,
// data rows, installed files. One helper, so that every test of what is left compares all of it. A path stands for what
// `longshore up` keeps in that directory.

import pg from 'pg';
import { CACHE_SCHEMA } from '../../bin/compose/databases.ts';
import { type Places, placesOfUp, SITES, type Site, withCache } from './places.ts';

export interface SiteState {
  /** Statuses as one line, `data/meta`; undefined without a row. */
  readonly status: string | undefined;
  readonly deletedStatus: number | undefined;
  readonly accessibility: string | undefined;
  /** Rows of the plugin's table. */
  readonly rows: number;
  /** Files below the site's folder of the dataset. */
  readonly files: readonly string[];
  /** Whom the site shows the dataset. */
  readonly shownTo: readonly string[];
}

export interface WholeState {
  /** Undefined when the cache does not know the dataset. */
  readonly cache:
    | {
        readonly state: string;
        readonly upload: string;
        readonly import: string;
        readonly files: readonly string[];
        /** `recipient offer/receipt`. */
        readonly shares: readonly string[];
      }
    | undefined;
  /** Keys below the dataset's prefix. */
  readonly objects: readonly string[];
  readonly sites: Readonly<Record<Site, SiteState>>;
  /** Bytes that count against the owner's quota, all datasets together, beyond those that the store keeps. */
  readonly miscounted: number;
  /** Rows that should be gone when nothing is under way. */
  readonly leftovers: Readonly<Record<'jobs' | 'leases' | 'attempts' | 'uploads', number>>;
}

/** What nothing is left of on a site. */
export const NOTHING_ON_SITE: SiteState = {
  status: undefined,
  deletedStatus: undefined,
  accessibility: undefined,
  rows: 0,
  files: [],
  shownTo: [],
};

export async function wholeState(
  where: Places | string,
  owner: string,
  dataset: string,
  table: string,
): Promise<WholeState> {
  const places = typeof where === 'string' ? placesOfUp(where) : where;
  return places.withCache(async (cache) => {
    const [row] = await rows<NonNullable<WholeState['cache']>>(
      cache,
      `select state, upload_status as upload, import_status as import,
         array(select folder || ' ' || name from dataset_file f where f.dataset_id = d.dataset_id
           order by folder, name collate "C") as files,
         array(select recipient_id || ' ' || coalesce(offer, '-') || '/' || coalesce(receipt, '-')
           from dataset_share s where s.dataset_id = d.dataset_id order by recipient_id) as shares
       from dataset d where dataset_id = $1`,
      [dataset],
    );
    const [left] = await rows<WholeState['leftovers'] & { quota: number }>(
      cache,
      `select (select count(*) from job where dataset_id = $1)::integer as jobs,
         (select count(*) from lease where name = $1 and holder is not null)::integer as leases,
         (select count(*) from install_attempt where dataset_id = $1)::integer as attempts,
         (select count(*) from upload where dataset_id = $1 and state <> 'stored')::integer as uploads,
         coalesce((select bytes from owner_usage where owner_id = $2::numeric), 0)::integer as quota`,
      [dataset, owner],
    );
    if (!left) throw new Error('no answer from the cache database');
    const { quota, ...leftovers } = left;
    const kept = await places.bytesOf(owner);
    const sites = await Promise.all(SITES.map(async (site) => [site, await siteState(places, site, dataset, table)]));
    return {
      cache: row,
      objects: await places.keysOf(owner, dataset),
      sites: Object.fromEntries(sites) as WholeState['sites'],
      miscounted: quota - kept,
      leftovers,
    };
  });
}

/** Resolves when no change, no event and no job waits or runs; dead and far delayed jobs are named in the failure. */
export const settled = (dir: string, withinMs?: number): Promise<void> =>
  noneLeft(
    dir,
    `select ((select count(*) from object_change) + (select count(*) from event_log))::integer as waiting,
       array(select lane || ' ' || dataset_id || ' ' || state || coalesce(': ' || message, '') from job) as what`,
    withinMs,
  );

/** Resolves when nothing is left of uploads and counts that a killed process was in the middle of. */
export const swept = (dir: string): Promise<void> =>
  noneLeft(
    dir,
    `select (select count(*) from upload where state = 'receiving')::integer as waiting,
       array(select dataset_id || '/' || name from kept_object where holder is not null) as what`,
  );

/** @param query one row with a number `waiting` and an array of texts `what` */
async function noneLeft(dir: string, query: string, withinMs = 60_000): Promise<void> {
  await withCache(dir, async (cache) => {
    let woken = Promise.withResolvers<void>();
    cache.on('notification', () => woken.resolve());
    await cache.query('listen longshore_lease');
    await cache.query('listen longshore_job');
    for (const begun = Date.now(); ; ) {
      const [open] = await rows<{ waiting: number; what: string[] }>(cache, query);
      if (open?.waiting === 0 && open.what.length === 0) return;
      if (Date.now() - begun > withinMs)
        throw new Error(`still under way after ${withinMs / 1_000} s: ${JSON.stringify(open)}`);
      // What needs no job ends without a notification: a look now and then is the net.
      const net = setTimeout(() => woken.resolve(), 100);
      await woken.promise;
      clearTimeout(net);
      woken = Promise.withResolvers();
    }
  });
}

/** Drops everything that the cache database holds. */
export async function loseCache(dir: string): Promise<void> {
  await withCache(dir, async (cache) => {
    await cache.query(`drop schema ${pg.escapeIdentifier(CACHE_SCHEMA)} cascade`);
  });
}

async function siteState(places: Places, site: Site, dataset: string, table: string): Promise<SiteState> {
  const [control] = await places.queryTarget<{ deleted: number; accessibility: string; status: string }>(
    site,
    'controlDb',
    `select i.deleted_status as deleted, i.accessibility,
       coalesce((select status from dataset_install_message m where m.dataset_id = i.dataset_id
         and m.target_id = i.target_id and m.install_type = 'data'), '-') || '/' ||
       coalesce((select status from dataset_install_message m where m.dataset_id = i.dataset_id
         and m.target_id = i.target_id and m.install_type = 'meta'), '-') as status
     from dataset_install i where i.dataset_id = $1 and i.target_id = $2`,
    [dataset, site],
  );
  const shown = await places.queryTarget<{ user_id: string }>(
    site,
    'controlDb',
    'select user_id from available_user_datasets where dataset_id = $1 and project_id = $2',
    [dataset, site],
  );
  const [data] = await places.queryTarget<{ found: string }>(
    site,
    'dataDb',
    `select count(*) as found from ${pg.escapeIdentifier(table)} where dataset_id = $1`,
    [dataset],
  );
  return {
    status: control?.status,
    deletedStatus: control?.deleted,
    accessibility: control?.accessibility,
    rows: Number(data?.found),
    files: await places.filesOf(site, dataset),
    shownTo: shown.map((row) => row.user_id).sort(),
  };
}

async function rows<Row extends object>(cache: pg.Client, text: string, values: unknown[] = []): Promise<Row[]> {
  return (await cache.query(text, values)).rows as Row[];
}
