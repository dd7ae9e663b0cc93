// Rows of P10 about slim runs: the share of a core that they take on average, ours and that of our PostgreSQL. Each run compares
// the next part of the store, so that a pass over a million datasets takes three hours. A run in the middle of such a pass is
// measured: at rest, and after datasets of its part have changed.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nextPart, type SlimPace } from '../../actors/reconciler/slim-part.ts';
import { PostgresSlimPasses } from '../../engine/adapters/catalog/slim-passes-postgres.ts';
import { Postgres } from '../../engine/adapters/postgres/postgres.ts';
import type { DatasetId, UserId } from '../../engine/model/ids.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { startRadosgw } from '../stack/radosgw.ts';
import { s3OptionsOf } from '../stack/s3-options.ts';
import { millionDatasets } from './million-datasets.ts';
import { datasetOf, ownerOf } from './million-objects.ts';
import type { ReconcileOrder } from './p10-reconcile.ts';
import { cpuSeconds, processTree } from './processes.ts';
import { type BenchRow, DATASETS, type Round } from './row.ts';
import { openSides, type Sides } from './side-process.ts';
import { change, fillBoth } from './slim-stores.ts';
import type { StoreAt } from './store-at.ts';

const COUNT = DATASETS ?? 1_000_000;
/** An S3 server of one machine takes hours to be filled with millions of objects. A part costs the same in a smaller bucket. */
const COUNT_S3 = Math.ceil(COUNT / 10);
const CHANGED = 100;
/** The default intervals. */
const PACE: SlimPace = { fullRunIntervalMs: 6 * 3_600_000, slimRunIntervalMs: 300_000 };
const never = new AbortController().signal;

interface SlimRow {
  readonly id: string;
  readonly title: string;
  readonly count: number;
  /** Gives an empty store. */
  readonly store: (cleanup: AsyncDisposableStack) => Promise<StoreAt>;
}

export const slimRows: readonly BenchRow[] = [
  slim({
    id: 'P10b',
    title: `slim runs, ${COUNT} datasets of 4 objects in a directory, ${CHANGED} changed every 5 min: share of a core`,
    count: COUNT,
    async store(cleanup) {
      const path = await mkdtemp(join(tmpdir(), 'longshore-bench-slim-'));
      cleanup.defer(() => rm(path, { recursive: true, force: true }));
      return { path };
    },
  }),
  slim({
    id: 'P10c',
    title: `slim runs, parts of ${COUNT} datasets of 4 objects in radosgw, ${CHANGED} changed every 5 min: share of a core`,
    count: COUNT_S3,
    async store(cleanup) {
      const t = { teardown: (fn: () => unknown) => cleanup.defer(async () => void (await fn())) };
      const radosgw = await startRadosgw(t, { durable: true, gib: 32 });
      return s3OptionsOf(radosgw, await radosgw.makeBucket());
    },
  }),
];

function slim({ id, title, count, store }: SlimRow): BenchRow {
  return {
    ...{ id, title, unit: '%', better: 'lower', sides: {} },
    bars: [{ atMost: 2 }],
    async measure(rounds) {
      await using cleanup = new AsyncDisposableStack();
      const at = await store(cleanup);
      const sides = cleanup.use(await openSides());
      const datasets = cleanup.use(await millionDatasets());
      await fillBoth(at, datasets, count);
      const db = cleanup.use(new Postgres(datasets.options, silentLogger()));
      const order = { kind: 'slim', pace: PACE, database: datasets.options, store: at, targets: [] } as const;
      const run = (changes: number) => cost({ sides, order, db, count, postmaster: datasets.postmaster }, changes);
      const measured: Round[] = [];
      for (let n = -1; n < rounds; n++) {
        const [atRest, changed] = [await run(0), await run(CHANGED)];
        const figures = { 'CPU s at rest': atRest.cpu, 'CPU s': changed.cpu, seconds: changed.seconds };
        const memory = { 'RSS MiB': changed.peakMib };
        if (n >= 0)
          measured.push({ ours: shareOf(changed.cpu), '% at rest': shareOf(atRest.cpu), ...figures, ...memory });
      }
      return measured;
    },
  };
}

/** Per cent of a core, if that is what every run takes. */
const shareOf = (cpu: number): number => (cpu / (PACE.slimRunIntervalMs / 1000)) * 100;

interface Prepared {
  readonly sides: Sides;
  readonly order: ReconcileOrder;
  readonly db: Postgres;
  /** Datasets in the store. */
  readonly count: number;
  readonly postmaster: number;
}

/** Of one run in the middle of a pass over `COUNT` datasets, which has to find what was changed before it. */
async function cost({ sides, order, db, count, postmaster }: Prepared, changes: number) {
  const now = Date.now();
  const begunAt = new Date(now - PACE.fullRunIntervalMs / 4 + PACE.slimRunIntervalMs / 2);
  // The cache is not told of changes, so the two kinds of runs have different parts.
  const third = Math.floor(count / 3);
  const first = changes === 0 ? 2 * third : third;
  const after = { owner: ownerOf(first - 1) as UserId, dataset: datasetOf(first - 1) as DatasetId };
  const pass = { after, begunAt, compared: Math.floor(COUNT / 2), expected: COUNT };
  await new PostgresSlimPasses(db).save(pass, never);
  const listed = Math.min(nextPart(pass, PACE, now).limit, count - first);
  const among = Math.min(listed, third);
  const few = Math.min(changes, among);
  const changed = Array.from({ length: few }, (_, n) => first + Math.floor((n * among) / few));
  await change(order.store, changed);
  const database = (): number => cpuSeconds(processTree(postmaster), postmaster);
  const begun = database();
  const { cpu, seconds, peakMib } = await sides.run('reconcile-ours.ts', order, {
    ...{ listed, changed: changed.map(datasetOf), absent: 0 },
  });
  return { cpu: cpu + database() - begun, seconds, peakMib };
}
