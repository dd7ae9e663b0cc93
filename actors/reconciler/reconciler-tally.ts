// The counts of one run of the reconciler, and the brake that depends on them. It says whether the listing can be trusted
// enough to delete what is missing from it (docs/design/decisions.md#daemons).

import type { TargetId } from '../../engine/model/ids.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import type { MergedDataset } from './merge-in-store-order.ts';

/** Number of deletes per run that never triggers the brake. */
const FEW = 10;
/** Share of a database's datasets whose deletion does not trigger the brake. */
const SHARE = 0.02;

interface Counts {
  /** Datasets that the database knows. */
  known: number;
  absent: number;
}

export class ReconcilerTally {
  readonly #counts: Map<string, Counts>;
  /** Datasets in the store. */
  listed = 0;
  /** Datasets in the store that a database knows. */
  #found = 0;

  constructor(targets: Iterable<TargetId>) {
    this.#counts = new Map(['cache', ...targets].map((name) => [name, { known: 0, absent: 0 }]));
  }

  add({ stored, indexed, installed }: MergedDataset, absent: boolean): void {
    if (stored) this.listed++;
    let known = false;
    for (const [name, counts] of this.#counts) {
      if (name === 'cache' ? !indexed : !installed.get(name as TargetId)) continue;
      known = true;
      counts.known++;
      if (absent) counts.absent++;
    }
    if (stored && known) this.#found++;
  }

  /** A target that ends early was not counted whole. */
  leaveOut(target: TargetId): void {
    this.#counts.delete(target);
  }

  /** Candidates for deletion, by database. */
  get absent(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#counts].map(([name, { absent }]) => [name, absent]));
  }

  get anyAbsent(): boolean {
    return [...this.#counts.values()].some(({ absent }) => absent > 0);
  }

  /** Why the datasets that are missing from the listing must not be deleted without an order; undefined when they may be. */
  brake(): string | undefined {
    if (!this.anyAbsent) return undefined;
    if (this.listed === 0) return 'the listing of the object store is empty';
    if (this.#found === 0) return `none of the ${this.listed} datasets of the object store is known to any database`;
    const tooMany = [...this.#counts].filter(([, { known, absent }]) => absent > Math.max(FEW, known * SHARE));
    if (tooMany.length === 0) return undefined;
    const list = tooMany.map(([name, { known, absent }]) => `${name}: ${absent} of ${known}`).join(', ');
    return `too many datasets are absent from the object store (${list})`;
  }

  /** Why this second pass cannot be trusted: more datasets are missing than in the first. */
  exceeds(first: ReconcilerTally): string | undefined {
    for (const [name, { absent }] of this.#counts)
      if (absent > (first.absent[name] ?? 0))
        return `more datasets of ${name} are missing from the object store than in the first pass`;
    return undefined;
  }
}

// The reconciler's metrics.

const RESULTS = ['listed', 'malformed', 'reconciled', 'absent', 'deleted', 'spared'] as const;

export interface ReconcilerCounter {
  count(result: (typeof RESULTS)[number], datasets: number): void;
  /** Whether the last full run was braked. */
  braked(braked: boolean): void;
}

export function reconcilerMetrics(metrics: Metrics): ReconcilerCounter {
  const datasets = metrics.counter('reconciler_datasets_total', 'Datasets seen by reconciler runs, by result.', [
    'result',
  ]);
  const braked = metrics.gauge('reconciler_braked', '1 if the last full run refused to delete absent datasets.');
  // Start at zero so that the first increment is visible as an increase.
  for (const result of RESULTS) datasets.inc({ result }, 0);
  return {
    count: (result, number) => datasets.inc({ result }, number),
    braked: (is) => braked.set({}, is ? 1 : 0),
  };
}
