// Slim runs share a pass: together they compare all datasets, in the order of the object store's keys, and each takes a part.
// Two runs over the whole store would cost the same whether anything changed or not.
//
// A pass takes at most half of fullRunInterval, and the next one begins with its last run. So two comparisons of a dataset
// are at most fullRunInterval apart, even if it comes first in one pass and last in the next. The last run before that time
// compares everything that is left, so this holds however wrong the expected number is.

import type { DatasetId } from '../../engine/model/ids.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import type { DatasetIndex } from '../../engine/ports/catalog.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type { SlimPass } from '../../engine/ports/slim-passes.ts';
import { inParallel } from '../dataset/site-targets.ts';
import { storedDataset } from '../dataset/stored-dataset.ts';
import { comesBefore, type MergedDataset } from './merge-in-store-order.ts';

/** How the slim runs that nobody ordered are paced. */
export interface SlimPace {
  readonly fullRunIntervalMs: number;
  readonly slimRunIntervalMs: number;
  /** Minimum number of datasets in a part; default {@link LEAST}. */
  readonly least?: number;
}

/** Takes about a second. In a store of this size every run compares everything. */
const LEAST = 10_000;

/** What one run compares: up to `limit` datasets after `pass.after`. */
export interface Part {
  readonly pass: SlimPass;
  readonly limit: number;
}

export const wholeStore = (nowMs: number): Part => ({
  pass: { after: undefined, begunAt: new Date(nowMs), compared: 0, expected: 0 },
  limit: Number.POSITIVE_INFINITY,
});

/** @param pass undefined when it is not known how many datasets there are: the run compares all of them */
export function nextPart(pass: SlimPass | undefined, pace: SlimPace, nowMs: number): Part {
  // If the clock of a former leader was ahead, it is not known when the pass must end.
  if (!pass || pass.begunAt.getTime() > nowMs) return wholeStore(nowMs);
  const leftMs = pass.begunAt.getTime() + pace.fullRunIntervalMs / 2 - nowMs;
  // Periods have jitter: this run is the last one unless another is certain to begin in time.
  const runs = Math.floor(leftMs / pace.slimRunIntervalMs);
  if (runs < 2) return { pass, limit: Number.POSITIVE_INFINITY };
  return { pass, limit: Math.max(Math.ceil((pass.expected - pass.compared) / runs), pace.least ?? LEAST) };
}

/**
 * The pass after a part of it was compared.
 * @param compared how many datasets
 * @param last the last of them; undefined when the part went to the end of the store
 */
export function passAfter(
  { pass }: Part,
  compared: number,
  last: DatasetAddress | undefined,
  begunMs: number,
): SlimPass {
  const total = pass.compared + compared;
  if (last) return { ...pass, after: last, compared: total };
  return { after: undefined, begunAt: new Date(begunMs), compared: 0, expected: total };
}

// Between two comparisons a run finds a dataset by what the cache itself says: its upload or import has not ended, and no job
// is there to end it.

/** Datasets whose objects are held at a time. */
const PAGE = 100;
const LISTINGS_AT_ONCE = 8;

/** The forgotten datasets outside of the part that a run compared, with their objects. */
export async function* forgottenElsewhere(
  { index, store }: { readonly index: Pick<DatasetIndex, 'forgotten'>; readonly store: ObjectStore },
  { after, last }: { readonly after: DatasetAddress | undefined; readonly last: DatasetAddress | undefined },
  signal: AbortSignal,
): AsyncGenerator<readonly MergedDataset[], void, undefined> {
  if (!after && !last) return;
  const isElsewhere = (at: DatasetAddress): boolean =>
    (after !== undefined && !comesBefore(after, at)) || (last !== undefined && comesBefore(last, at));
  for (let from: DatasetId | undefined; ; ) {
    const page = await index.forgotten(from, PAGE, signal);
    const elsewhere = page.filter(isElsewhere);
    const stored = await inParallel(elsewhere, LISTINGS_AT_ONCE, (at) => storedDataset(store, at, signal));
    yield elsewhere.map((indexed, i) => ({
      ...{ owner: indexed.owner, dataset: indexed.dataset },
      ...{ stored: stored[i], indexed, installed: new Map() },
    }));
    if (page.length < PAGE) return;
    from = page.at(-1)?.dataset;
  }
}
