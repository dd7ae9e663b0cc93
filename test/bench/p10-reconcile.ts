// P10: runs of the reconciler. a: a full one over a million datasets of four objects each, and over what ten targets know of
// them. Two datasets differ: one is only in the store, one only in the databases. b and c: slim runs (slim-runs.ts).

import type { SlimPace } from '../../actors/reconciler/slim-part.ts';
import type { PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import { listingStore } from './listing-store.ts';
import { type MillionDatasets, millionDatasets } from './million-datasets.ts';
import { datasetOf } from './million-objects.ts';
import { type BenchRow, DATASETS, type Round } from './row.ts';
import { openSides } from './side-process.ts';
import { slimRows } from './slim-runs.ts';
import type { StoreAt } from './store-at.ts';

export interface ReconcileOrder {
  readonly kind: 'full' | 'slim';
  /** Of a slim run over a part of the store. */
  readonly pace?: SlimPace;
  readonly database: PostgresOptions;
  readonly store: StoreAt;
  /** Ids of the targets to compare with. */
  readonly targets: readonly string[];
}

const COUNT = DATASETS ?? 1_000_000;
const QUARTER = Math.ceil(COUNT / 4);
/** Objects of each dataset. */
const EACH = 4;
const TARGETS = Array.from({ length: 10 }, (_, n) => `Target${n}`);

const fullRow: BenchRow = {
  id: 'P10a',
  title: `a full run, ${COUNT} datasets of ${EACH} objects against ${TARGETS.length} targets, 2 differences`,
  unit: 'objects/s',
  better: 'higher',
  sides: {},
  bars: [{ atLeast: 100_000 }, { of: 'RSS MiB', over: 'RSS MiB of a quarter', atMost: 1.1 }],
  async measure(rounds) {
    await using cleanup = new AsyncDisposableStack();
    const sides = cleanup.use(await openSides());
    const prepared = async (count: number): Promise<{ order: ReconcileOrder; expected: unknown }> => {
      const datasets: MillionDatasets = cleanup.use(await millionDatasets());
      // The store has all but one, the databases all but the last.
      await datasets.fill(count - 1);
      await datasets.install(count - 1, TARGETS);
      const store = cleanup.use(await listingStore(count * EACH, EACH, Math.floor(count / 8)));
      return {
        order: { kind: 'full', database: datasets.options, store: store.options, targets: TARGETS },
        expected: { listed: count - 1, changed: [datasetOf(count - 1)], absent: 1 },
      };
    };
    const [few, many] = [await prepared(QUARTER), await prepared(COUNT)];
    const measured: Round[] = [];
    for (let n = -1; n < rounds; n++) {
      const less = await sides.run('reconcile-ours.ts', few.order, few.expected);
      const { seconds, peakMib, cpu } = await sides.run('reconcile-ours.ts', many.order, many.expected);
      const memory = { 'RSS MiB': peakMib, 'RSS MiB of a quarter': less.peakMib };
      if (n >= 0) measured.push({ ours: (COUNT * EACH) / seconds, 'CPU s': cpu, ...memory });
    }
    return measured;
  },
};

export const rows: readonly BenchRow[] = [fullRow, ...slimRows];
