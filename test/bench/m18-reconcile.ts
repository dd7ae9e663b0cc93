// M18: a full run of the reconciler over a million objects, each a dataset of its own, and a million datasets of the
// cache, of which two differ: one is only in the store, one only in the cache. Memory is measured at three sizes.

import type { PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import { listingStore } from './listing-store.ts';
import { type MillionDatasets, millionDatasets } from './million-datasets.ts';
import { datasetOf } from './million-objects.ts';
import type { BenchRow, Round } from './row.ts';
import { openSides, type Sides } from './side-process.ts';

export interface ReconcileOrder {
  readonly database: PostgresOptions;
  /** Of the store. */
  readonly port: number;
  /** Ids of the targets to compare with. */
  readonly targets: readonly string[];
}

const COUNT = 1_000_000;
/** Of the run by which growth is judged. */
const MOST = 4 * COUNT;
/** In the cache, not in the store. */
const LEFT_OUT = 123_456;

const m18: BenchRow = {
  id: 'M18',
  title: 'seconds of a full run, 1,000,000 objects against 1,000,000 rows, 2 differences',
  unit: 's',
  better: 'lower',
  sides: { naive: { is: 'peer', what: "the listing by MinIO's client in a map, the whole table by one query of pg" } },
  bars: [
    { over: 'naive', atMost: 1 / 12 },
    { of: 'ours RSS MiB', over: 'naive RSS MiB', atMost: 0.2 },
    { of: 'RSS MiB of 4M', over: 'ours RSS MiB', atMost: 1.1 },
  ],
  async measure(rounds) {
    await using sides = await openSides();
    await using datasets = await millionDatasets();
    const curve = await curveOf(sides, datasets);
    await datasets.fill(COUNT - 1);
    await using store = await listingStore(COUNT, 1, LEFT_OUT);
    const order: ReconcileOrder = { database: datasets.options, port: store.port, targets: [] };
    // Warms up the database and the store, both of which are the same for both sides.
    await sides.run('reconcile-ours.ts', order, expected(COUNT));
    const round = async (): Promise<Round> => {
      const ours = await sides.run('reconcile-ours.ts', order, expected(COUNT));
      const naive = await sides.run('reconcile-naive.ts', order, expected(COUNT));
      return {
        ...{ ours: ours.seconds, naive: naive.seconds },
        ...{ 'ours RSS MiB': ours.peakMib, 'naive RSS MiB': naive.peakMib, ...curve },
      };
    };
    const measured = [];
    for (let n = 0; n < rounds; n++) measured.push(await round());
    return measured;
  },
};

export const rows: readonly BenchRow[] = [m18];

/** The store has all but one, the cache all but the last. */
const expected = (count: number): unknown => ({ listed: count - 1, changed: [datasetOf(count - 1)], absent: 1 });

/** Peak memory by size, MiB: it must not grow with what is compared. */
async function curveOf(sides: Sides, datasets: MillionDatasets): Promise<Readonly<Record<string, number>>> {
  const curve: Record<string, number> = {};
  for (const [name, count] of [
    ['RSS MiB of 4M', MOST],
    ['RSS MiB of 250k', COUNT / 4],
  ] as const) {
    await datasets.fill(count - 1);
    await using store = await listingStore(count, 1, LEFT_OUT);
    const order: ReconcileOrder = { database: datasets.options, port: store.port, targets: [] };
    curve[name] = (await sides.run('reconcile-ours.ts', order, expected(count))).peakMib;
  }
  return curve;
}
