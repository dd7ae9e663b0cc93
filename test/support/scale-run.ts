// What an installation with very many datasets is put through: lists, a full run, slim runs and a prune, on the running program,
// with the memory of all its processes beside each; and at the end whether anything was lost or is left.

import { readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type pg from 'pg';
import { fetch } from 'undici';
import { parse, stringify } from 'yaml';
import { cpuSeconds, processTree, proportionalMb } from '../bench/processes.ts';
import { Api, detailsOf, formOf } from './api.ts';
import { CopiedDatasets, type Copy, type Original, superuserOf } from './copied-datasets.ts';
import { freePortBase, longshore, type Up, up } from './longshore.ts';

/** What a phase took of the program and of its database server. */
export interface Phase {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** The most at any look; what processes share is divided among them. */
  readonly peakMb: number;
}

export interface Scale {
  readonly app: Up;
  readonly api: Api;
  readonly cache: pg.Client;
  readonly site: pg.Client;
}

interface Registered {
  readonly live: number;
  /** Uninstalled, waiting for the pruner. */
  readonly deleted: number;
}

export interface Counts {
  /** Folders of datasets in the object store. */
  readonly store: number;
  /** Rows of the cache by state. */
  readonly cache: Readonly<Record<string, number>>;
  /** Datasets on the target that are not uninstalled, and all that it has a row of. */
  readonly installed: number;
  readonly onSite: number;
  readonly jobs: number;
  /** Owners whose usage is not the sum of what is kept for them. */
  readonly wrongUsages: number;
}

interface Teardown {
  teardown(fn: () => unknown): void;
}

export const TARGET = 'AlphaDB';
/** Owns a tenth of all datasets. */
export const BIG_OWNER = '1000000';
/** Datasets of each other owner. */
const OWNED = 100;
const LOOK_MS = 250;
/** As many runs to a pass as with the intervals that are the default. */
const RECONCILER = { enabled: false, fullRunInterval: '12m', slimRunInterval: '10s' } as const;

interface Config {
  installer: { daemons?: object };
}

/** A started program without datasets. */
export async function startScale(t: Teardown, dir: string, env?: Readonly<Record<string, string>>): Promise<Scale> {
  const ports = ['--port-base', String(await freePortBase())];
  await (await up(t, dir, ports)).stop();
  const file = join(dir, 'config.yaml');
  const config = parse(await readFile(file, 'utf8')) as Config;
  config.installer.daemons = { reconciler: RECONCILER };
  await writeFile(file, stringify(config));
  const app = await up(t, dir, ports, env);
  const api = new Api(app.endpoints.installer, await app.token(BIG_OWNER));
  const cache = await superuserOf(dir, 'installer');
  const site = await superuserOf(dir, 'sites');
  t.teardown(() => Promise.all([cache.end(), site.end()]));
  return { app, api, cache, site };
}

/** Adds so many datasets: a tenth is public, and a tenth is deleted. */
export async function register({ app, api, cache }: Scale, count: number): Promise<Registered> {
  const kept = await uploaded(app, api, 'private');
  const shown = await uploaded(app, api, 'public');
  const gone = await uploaded(app, api, 'private');
  await remove(api, cache, gone.dataset);
  const tenth = Math.ceil(count / 10);
  await using copied = await CopiedDatasets.open(app.dir);
  // The originals count, too, and are the big owner's.
  await copied.add(kept, count - 2 * tenth - 1, (n) => copyOf(kept, n, tenth));
  await copied.add(shown, tenth - 1, (n) => copyOf(shown, n, 0));
  await copied.add(gone, tenth - 1, (n) => copyOf(gone, n, 0));
  await copied.analyze();
  return { live: count - tenth, deleted: tenth };
}

/** The first of them are the big owner's. */
function copyOf({ dataset }: Original, n: number, bigOwners: number): Copy {
  const owner = n < bigOwners ? BIG_OWNER : String(Number(BIG_OWNER) + 1 + Math.floor((n - bigOwners) / OWNED));
  return { owner, dataset: `${dataset}-${n}` };
}

async function uploaded(app: Up, api: Api, visibility: 'private' | 'public'): Promise<Original> {
  const form = formOf(detailsOf('genelist', { installTargets: [TARGET], visibility }), [
    { name: 'genes.txt', content: 'PF3D7_0100100\n' },
  ]);
  const response = await api.post(form);
  const { datasetId } = (await response.json()) as { datasetId?: string };
  if (datasetId === undefined) throw new Error(`POST /datasets: ${response.status}`);
  const { code, stdout } = await longshore(['watch', datasetId, '--data', app.dir, '--user', BIG_OWNER]);
  if (code !== 0) throw new Error(`dataset ${datasetId}: ${stdout}`);
  return { owner: BIG_OWNER, dataset: datasetId };
}

async function remove(api: Api, cache: pg.Client, dataset: string): Promise<void> {
  const status = await api.send('DELETE', `/datasets/${dataset}`);
  if (status !== 204) throw new Error(`DELETE /datasets/${dataset}: ${status}`);
  await until(async () => {
    const { rows } = await cache.query('select state from installer.dataset where dataset_id = $1', [dataset]);
    return rows[0]?.state === 'deleted';
  });
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await setTimeout(LOOK_MS);
}

/** Runs it while it looks at the memory of the processes. */
export async function phase({ app }: Pick<Scale, 'app'>, run: () => Promise<unknown>): Promise<Phase> {
  const pid = app.endpoints.pid;
  const begun = performance.now();
  const cpu = (): number => cpuSeconds(processTree(pid), pid);
  const cpuBefore = cpu();
  let peakMb = 0;
  const look = (): void => {
    peakMb = Math.max(peakMb, proportionalMb(processTree(pid)));
  };
  look();
  const looks = setInterval(look, LOOK_MS);
  try {
    await run();
  } finally {
    clearInterval(looks);
  }
  look();
  return { seconds: (performance.now() - begun) / 1000, cpuSeconds: cpu() - cpuBefore, peakMb };
}

/** A report of a run as the API shows it. */
interface Run {
  readonly started: string;
  readonly ended?: string;
  readonly kind?: string;
  readonly failure?: string;
  readonly listed?: number;
  readonly reconciled?: number;
  readonly deleted?: number;
  readonly pruned?: number;
  readonly failures?: number;
  readonly skipped?: Readonly<Record<string, number>>;
  readonly absent?: Readonly<Record<string, number>>;
}

export type { Run };

async function admin(app: Up, method: 'GET' | 'POST', path: string): Promise<{ status: number; body: unknown }> {
  const headers = { 'admin-token': app.endpoints.adminToken };
  const response = await fetch(app.endpoints.installer + path, { method, headers });
  return { status: response.status, body: await response.json() };
}

/** Orders a run by the path of its reports, and waits for its report. */
export async function ordered({ app }: Pick<Scale, 'app'>, path: string, query = ''): Promise<Run> {
  const before = await lastRun(app, path);
  await until(async () => {
    const { status, body } = await admin(app, 'POST', path + query);
    // A run of the daemon's own.
    if (status !== 202 && status !== 409) throw new Error(`POST ${path}: ${status} ${JSON.stringify(body)}`);
    return status === 202;
  });
  return nextRun(app, path, (run) => run.started !== before?.started && run.kind !== 'slim');
}

/** The report of the next slim run that begins. */
export function nextSlimRun({ app }: Pick<Scale, 'app'>, after: Run | undefined): Promise<Run> {
  return nextRun(app, RECONCILE, (run) => run.kind === 'slim' && run.started !== after?.started);
}

export const RECONCILE = '/admin/rpc/datasets/reconcile';
export const PRUNE = '/admin/rpc/datasets/prune';

export async function lastRun(app: Up, path: string): Promise<Run | undefined> {
  return ((await admin(app, 'GET', path)).body as { last?: Run }).last;
}

async function nextRun(app: Up, path: string, isIt: (run: Run) => boolean): Promise<Run> {
  let found: Run | undefined;
  await until(async () => {
    const run = await lastRun(app, path);
    if (run && isIt(run)) found = run;
    return found !== undefined;
  });
  const run = found as Run;
  if (run.failure !== undefined) throw new Error(`${path}: ${run.failure}`);
  return run;
}

/** Prunes everything that was deleted, and waits until it is gone. */
export async function prune(scale: Scale): Promise<Run> {
  const run = await ordered(scale, PRUNE, '?age_cutoff=1s');
  await until(async () => {
    const { rows } = await scale.cache.query(`select from installer.job where lane = 'hardDelete' limit 1`);
    return rows.length === 0;
  });
  return run;
}

/** The body of a page of a list, in ms. */
export async function listed(
  { app, api }: Scale,
  path: string,
): Promise<{ readonly ms: number; readonly count: number }> {
  const begun = performance.now();
  const body = path.startsWith('/admin') ? (await admin(app, 'GET', path)).body : await api.json(path);
  const items = Array.isArray(body) ? body : (body as { results?: unknown[] }).results;
  if (!items) throw new Error(`GET ${path}: ${JSON.stringify(body).slice(0, 300)}`);
  return { ms: performance.now() - begun, count: items.length };
}

export async function counts({ app, cache, site }: Scale): Promise<Counts> {
  const objects = join(app.dir, 'objects', 'objects');
  let store = 0;
  for (const owner of readdirSync(objects)) store += readdirSync(join(objects, owner)).length;
  const states = await cache.query('select state, count(*)::integer as n from installer.dataset group by state');
  const one = async (client: pg.Client, text: string): Promise<number> =>
    (await client.query(text)).rows[0]?.n as number;
  return {
    store,
    cache: Object.fromEntries(states.rows.map(({ state, n }) => [state, n])),
    installed: await one(site, INSTALLED),
    onSite: await one(site, 'select count(*)::integer as n from alphadb_control.dataset'),
    jobs: await one(cache, 'select count(*)::integer as n from installer.job'),
    wrongUsages: await one(cache, WRONG_USAGES),
  };
}

const INSTALLED = `
  select count(*)::integer as n from alphadb_control.dataset_install i
  join alphadb_data.genelist g using (dataset_id) where i.deleted_status = 0`;

const WRONG_USAGES = `
  select count(*)::integer as n from installer.owner_usage u
  full join (select owner_id, sum(bytes) as bytes from installer.kept_object group by owner_id) k using (owner_id)
  where coalesce(u.bytes, 0) <> coalesce(k.bytes, 0)`;
