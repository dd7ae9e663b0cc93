// P17: what one more dataset, object or target costs where there are many: time of each item, one factor at a time.

import { Pruner } from '../../actors/daemons/pruner.ts';
import { PostgresDatasetIndex } from '../../engine/adapters/catalog/dataset-index-postgres.ts';
import { PostgresDatasetQueries } from '../../engine/adapters/datasets/dataset-queries-postgres.ts';
import { Postgres } from '../../engine/adapters/postgres/postgres.ts';
import type { DatasetId, UserId } from '../../engine/model/ids.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { type ListingStore, listingStore } from './listing-store.ts';
import { type MillionDatasets, millionDatasets } from './million-datasets.ts';
import { datasetOf, etagOf, FIRST_MODIFIED_MS, ownerOf } from './million-objects.ts';
import type { ReconcileOrder } from './p10-reconcile.ts';
import { type BenchRow, DATASETS, type Round } from './row.ts';
import { openSides } from './side-process.ts';

const never = new AbortController().signal;
const [FEW, MANY] = [1_000, DATASETS ?? 1_000_000];
const AT_MOST = 1.2;
/** Datasets that are pruned, or not yet, in one run. */
const DELETED = 200;

const rowsGrow: BenchRow = {
  id: 'P17a',
  title: `ms of a list of 100 datasets, in a cache of ${MANY} datasets against one of ${FEW}`,
  unit: 'ms',
  better: 'lower',
  sides: { few: { is: 'anchor', what: 'the same in a cache of 1,000' } },
  bars: ['ours', 'details', 'prune', 'reconcile'].map((name) => ({
    of: name,
    over: name === 'ours' ? 'few' : `${name} of few`,
    atMost: AT_MOST,
  })) as unknown as BenchRow['bars'],
  async measure(rounds) {
    await using few = await millionDatasets();
    await using many = await millionDatasets();
    const [small, large] = [await openCache(few, FEW), await openCache(many, MANY)];
    const round = async (): Promise<Round> => {
      const [one, other] = [await costs(small, FEW), await costs(large, MANY)];
      return {
        ...{ ours: other.list, few: one.list, details: other.details, 'details of few': one.details },
        ...{ prune: other.prune, 'prune of few': one.prune },
        ...{ reconcile: other.reconcile, 'reconcile of few': one.reconcile },
      };
    };
    await round();
    const measured = [];
    for (let n = 0; n < rounds; n++) measured.push(await round());
    for (const { db } of [small, large]) await db[Symbol.asyncDispose]();
    return measured;
  },
};

interface Cache {
  readonly db: Postgres;
  readonly queries: PostgresDatasetQueries;
  readonly index: PostgresDatasetIndex;
  readonly pruner: Pruner;
}

async function openCache(datasets: MillionDatasets, count: number): Promise<Cache> {
  await datasets.fill(count);
  await datasets.index();
  const db = new Postgres(datasets.options, silentLogger());
  await db.query(`update dataset set state = 'deleted' where dataset_id < $1`, [datasetOf(DELETED)]);
  await db.query('vacuum (analyze) dataset');
  const index = new PostgresDatasetIndex(db);
  const [clock, log, metrics] = [systemClock, silentLogger(), new Metrics()];
  const ports = { jobs: { enqueue: async () => undefined }, events: { nextEventId: async () => 1 } };
  const pruner = new Pruner({ ...ports, store: FLAGGED, index, targets: new Map(), clock, log, metrics });
  return { db, queries: new PostgresDatasetQueries(db), index, pruner };
}

/** Every dataset was deleted just now: each is looked at, none is removed, so that each round finds the same. */
const FLAGGED = {
  probe: async () => undefined,
  head: async (key: string) => ({ key, size: 0, etag: etagOf(0), modified: new Date(systemClock.now()) }),
} as unknown as ObjectStore;

/** Ms of each item. */
async function costs({ queries, index, pruner }: Cache, count: number) {
  /** Owners and datasets spread over all, the same in each round; the deleted ones are the first. */
  const spread = (n: number): number => DELETED + ((n * 7_919) % (count - DELETED));
  const list = await each(100, async (n) => {
    const viewer = ownerOf(spread(n)) as UserId;
    const found = await Array.fromAsync(queries.list({ viewer, ownership: 'owned', limit: 100 }, never));
    if (found.length !== 100) throw new Error(`${found.length} datasets of ${viewer}`);
  });
  const details = await each(500, async (n) => {
    if (!(await queries.view(datasetOf(spread(n)) as DatasetId, never))) throw new Error(`no dataset ${spread(n)}`);
  });
  const prune = await each(10, async () => {
    const report = await pruner.runOnce(new Date(FIRST_MODIFIED_MS), never);
    if (report.skipped['too-young'] !== DELETED) throw new Error(`pruned: ${JSON.stringify(report)}`);
  });
  const reconcile = await each(40, async (n) => {
    const start = spread(n * 13) % (count - 500);
    const after = { owner: ownerOf(start) as UserId, dataset: datasetOf(start) as DatasetId };
    const rows = [...(await index.page(after, 500, never))];
    if (rows.length < 400) throw new Error(`${rows.length} rows after ${start}`);
  });
  return { list, details, prune: prune / DELETED, reconcile: reconcile / 500 };
}

async function each(times: number, work: (n: number) => Promise<void>): Promise<number> {
  const begun = performance.now();
  for (let n = 0; n < times; n++) await work(n);
  return (performance.now() - begun) / times;
}

const OBJECTS = Math.min(MANY, 400_000);
const objectsGrow = grows({
  id: 'P17b',
  title: 'processor time of an object in a full run, 500 objects of each dataset against 5',
  few: '5 of each dataset, as many in all',
  async prepare(datasets, many) {
    const each = many ? 500 : 5;
    const count = OBJECTS / each;
    await datasets.fill(count);
    return { count, items: OBJECTS, store: await listingStore(OBJECTS, each), targets: [] };
  },
});

const INSTALLED = Math.min(MANY, 320_000);
const targetsGrow = grows({
  id: 'P17c',
  title: 'processor time of a row in a full run, 16 targets against 1',
  few: '1 target, as many rows in all',
  async prepare(datasets, many) {
    const targets = Array.from({ length: many ? 16 : 1 }, (_, n) => `Target${n}`);
    // As many rows of the cache and the targets in all.
    const count = Math.round(INSTALLED / (1 + targets.length));
    await datasets.fill(count);
    await datasets.install(count, targets);
    return { count, items: count * (1 + targets.length), store: await listingStore(count), targets };
  },
});

interface Growth {
  readonly id: string;
  readonly title: string;
  readonly few: string;
  readonly prepare: (datasets: MillionDatasets, many: boolean) => Promise<Prepared>;
}

interface Prepared {
  /** Datasets. */
  readonly count: number;
  /** What the time is divided by. */
  readonly items: number;
  readonly store: ListingStore;
  readonly targets: readonly string[];
}

function grows({ id, title, few, prepare }: Growth): BenchRow {
  return {
    ...{ id, title, unit: 'us', better: 'lower', sides: { few: { is: 'anchor', what: few } } },
    bars: [
      { over: 'few', atMost: AT_MOST },
      { of: 'RSS MiB', over: 'RSS MiB of few', atMost: AT_MOST },
    ],
    async measure(rounds) {
      await using sides = await openSides();
      await using few = await millionDatasets();
      await using many = await millionDatasets();
      const [small, large] = [await prepare(few, false), await prepare(many, true)];
      await using _few = small.store;
      await using _many = large.store;
      const run = async ({ options }: MillionDatasets, { count, items, store, targets }: Prepared) => {
        const order: ReconcileOrder = { kind: 'full', database: options, store: store.options, targets };
        const told = await sides.run('reconcile-ours.ts', order, { listed: count, changed: [], absent: 0 });
        return { us: (told.cpu / items) * 1e6, peakMib: told.peakMib };
      };
      const round = async (): Promise<Round> => {
        const one = await run(few, small);
        const other = await run(many, large);
        return { ours: other.us, few: one.us, 'RSS MiB': other.peakMib, 'RSS MiB of few': one.peakMib };
      };
      await round();
      const measured = [];
      for (let n = 0; n < rounds; n++) measured.push(await round());
      return measured;
    },
  };
}

export const rows: readonly BenchRow[] = [rowsGrow, objectsGrow, targetsGrow];
