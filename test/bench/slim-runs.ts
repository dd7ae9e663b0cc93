// Rows of P10 about slim runs: processor time of one, ours and that of our PostgreSQL, among many datasets of which few have
// changed. There is one every five minutes, so 1 % of a core is three seconds.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRadosgw } from '../stack/radosgw.ts';
import { s3OptionsOf } from '../stack/s3-options.ts';
import { millionDatasets } from './million-datasets.ts';
import { datasetOf } from './million-objects.ts';
import type { ReconcileOrder } from './p10-reconcile.ts';
import { cpuSeconds, processTree } from './processes.ts';
import { type BenchRow, DATASETS, type Round } from './row.ts';
import { openSides, type Sides } from './side-process.ts';
import { change, fillBoth } from './slim-stores.ts';
import type { StoreAt } from './store-at.ts';

const COUNT = DATASETS ?? 1_000_000;
/** An S3 server of one machine takes hours to be filled with millions of objects. */
const COUNT_S3 = Math.ceil(COUNT / 10);
const CHANGED = 100;
const EVERY_SECONDS = 300;

interface SlimRow {
  readonly id: string;
  readonly title: string;
  readonly count: number;
  /** Gives an empty store whenever it is called. */
  readonly stores: (cleanup: AsyncDisposableStack) => Promise<() => Promise<StoreAt>>;
}

interface Prepared {
  readonly order: ReconcileOrder;
  readonly count: number;
  readonly changed: readonly number[];
  readonly postmaster: number;
}

export const slimRows: readonly BenchRow[] = [
  slim({
    id: 'P10b',
    title: `slim runs, ${COUNT} datasets of 4 objects in a directory, ${CHANGED} changed: share of a core`,
    count: COUNT,
    async stores(cleanup) {
      const dir = await mkdtemp(join(tmpdir(), 'longshore-bench-slim-'));
      cleanup.defer(() => rm(dir, { recursive: true, force: true }));
      return async () => ({ path: await mkdtemp(join(dir, 'store-')) });
    },
  }),
  slim({
    id: 'P10c',
    title: `slim runs, ${COUNT_S3} datasets of 4 objects in radosgw, ${CHANGED} changed: share of a core at ${COUNT}`,
    count: COUNT_S3,
    async stores(cleanup) {
      const t = { teardown: (fn: () => unknown) => cleanup.defer(async () => void (await fn())) };
      const radosgw = await startRadosgw(t, { durable: true, gib: 32 });
      return async () => s3OptionsOf(radosgw, await radosgw.makeBucket());
    },
  }),
];

function slim({ id, title, count, stores }: SlimRow): BenchRow {
  return {
    ...{ id, title, unit: '%', better: 'lower', sides: {} },
    // What a run costs follows what has changed.
    bars: [{ atMost: 2 }, { of: 'CPU s', over: 'CPU s of a quarter', atMost: 1.2 }],
    async measure(rounds) {
      await using cleanup = new AsyncDisposableStack();
      const store = await stores(cleanup);
      const sides = cleanup.use(await openSides());
      const prepared = async (size: number): Promise<Prepared> => {
        const datasets = cleanup.use(await millionDatasets());
        const at = await store();
        await fillBoth(at, datasets, size);
        const changed = spread(size);
        const order = { kind: 'slim', database: datasets.options, store: at, targets: [] } as const;
        return { order, changed, count: size, postmaster: datasets.postmaster };
      };
      const quarter = Math.ceil(count / 4);
      const [few, many] = [await prepared(quarter), await prepared(count)];
      const measured: Round[] = [];
      for (let n = -1; n < rounds; n++) {
        const [less, more] = [await cost(sides, few), await cost(sides, many)];
        const perDataset = (more.cpu - less.cpu) / (count - quarter);
        const ours = ((more.cpu + perDataset * (COUNT - count)) / EVERY_SECONDS) * 100;
        const of = {
          'CPU s': more.cpu,
          'CPU s of a quarter': less.cpu,
          seconds: more.seconds,
          'RSS MiB': more.peakMib,
        };
        if (n >= 0) measured.push({ ours, ...of });
      }
      return measured;
    },
  };
}

/** Spread over all of them, in order. */
function spread(count: number): readonly number[] {
  const few = Math.min(CHANGED, count);
  return Array.from({ length: few }, (_, n) => Math.floor((n * count) / few));
}

/** Of one run, which has to find what was changed before it. */
async function cost(sides: Sides, { order, count, changed, postmaster }: Prepared) {
  await change(order.store, changed);
  const database = (): number => cpuSeconds(processTree(postmaster), postmaster);
  const begun = database();
  const expected = { listed: count, changed: changed.map(datasetOf), absent: 0 };
  const { cpu, seconds, peakMib } = await sides.run('reconcile-ours.ts', order, expected);
  return { cpu: cpu + database() - begun, seconds, peakMib };
}
