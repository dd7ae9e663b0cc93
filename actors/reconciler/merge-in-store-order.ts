// Merges what the object store and the databases know, dataset by dataset. All streams are in the order of the store's keys. At
// most one page of the listing and two pages per database are in memory, however many there are.
//   a stream out of order   fails (merge-cursors.ts)
//   listing, cache          must answer: their failure fails the merge
//   an install target       that fails is reported and left out from there on
// Datasets come in batches of as many as are at hand, because awaiting each one would be most of a run's time. Datasets that
// are known to be in sync (in-step.ts) are only counted.

import type { TargetId } from '../../engine/model/ids.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import type {
  DatasetPage,
  IndexedDataset,
  InstalledDataset,
  PageRows,
  StoreOrdered,
  TargetIndex,
} from '../../engine/ports/dataset-index.ts';
import type { ControlState } from '../../engine/ports/install-target.ts';
import type { ObjectPage } from '../../engine/ports/object-store.ts';
import { kindOf } from '../../engine/runtime/failure.ts';
import type { StoredDataset } from '../dataset/stored-dataset.ts';
import type { InStep } from './in-step.ts';
import { comesBefore, type MergeCursor, RowCursor, StoredCursor } from './merge-cursors.ts';
import { BYTES_PAGE, PAGE, pageOf, pagesAhead } from './pages-ahead.ts';

export interface MergeSources {
  /** The listing, not started yet. It is closed however the merge ends. */
  readonly stored: AsyncIterable<ObjectPage>;
  readonly cache: StoreOrdered<IndexedDataset, DatasetPage>;
  readonly targets: ReadonlyMap<TargetId, TargetIndex>;
  /** Called with keys that are below no dataset and belong to no other service. */
  readonly onStray?: (key: string) => void;
  /** If no target is compared, the datasets that `inStep` finds are skipped and passed to `count`. */
  readonly passOver?: { readonly inStep: InStep; readonly count: (datasets: number) => void };
}

export interface MergedDataset extends DatasetAddress {
  readonly stored: StoredDataset | undefined;
  readonly indexed: IndexedDataset | undefined;
  /** Per target that answers; undefined if the target does not know the dataset. */
  readonly installed: ReadonlyMap<TargetId, ControlState | undefined>;
}

type CacheCursor = RowCursor<IndexedDataset, DatasetPage>;
type TargetCursors = ReadonlyMap<TargetId, MergeCursor<InstalledDataset>>;

/**
 * Every dataset that any source knows, once, in the order of the store's keys.
 * @param onLeftOut called with an install target that failed; its datasets are not compared from there on
 */
export async function* mergeInStoreOrder(
  sources: MergeSources,
  onLeftOut: (target: TargetId, error: unknown) => void,
  signal: AbortSignal,
): AsyncGenerator<readonly MergedDataset[], void, undefined> {
  const listing = sources.stored[Symbol.asyncIterator]();
  try {
    const stored = new StoredCursor('object store', listing, sources.onStray);
    const rows = sources.passOver && sources.targets.size === 0 ? BYTES_PAGE : PAGE;
    const cache: CacheCursor = new RowCursor('cache', pagesAhead(sources.cache, rows, signal));
    const targets = new Map(
      [...sources.targets].map(([id, index]) => {
        const pages = pagesAhead(index, pageOf(sources.targets.size), signal);
        return [id, new RowCursor<InstalledDataset, PageRows<InstalledDataset>>(id, pages)] as const;
      }),
    );
    for (;;) {
      signal.throwIfAborted();
      await stored.fill();
      await cache.fill();
      for (const [id, cursor] of targets) {
        try {
          await cursor.fill();
        } catch (error) {
          if (signal.aborted || kindOf(error) === 'aborted') throw error;
          targets.delete(id);
          onLeftOut(id, error);
        }
      }
      if (![stored, cache, ...targets.values()].some(({ head }) => head)) return;
      yield atHand(stored, cache, targets, sources.passOver);
    }
  } finally {
    await listing.return?.();
  }
}

/** Takes datasets until more rows must be fetched. */
function atHand(
  stored: StoredCursor,
  cache: CacheCursor,
  targets: TargetCursors,
  passOver: MergeSources['passOver'],
): readonly MergedDataset[] {
  const batch: MergedDataset[] = [];
  const cursors = [stored, cache, ...targets.values()];
  for (;;) {
    // Before the stored dataset is read: it may have hundreds of objects.
    if (passOver && targets.size === 0 && passInStep(stored, cache, passOver)) continue;
    if (cursors.some((cursor) => cursor.isEmpty)) break;
    const first = firstOf(cursors);
    if (!first) break;
    const { owner, dataset } = first;
    const [inStore, indexed] = [stored.take(first), cache.take(first)];
    let installed = NOWHERE;
    if (targets.size > 0)
      installed = new Map([...targets].map(([id, cursor]) => [id, cursor.take(first)?.control] as const));
    batch.push({ owner, dataset, stored: inStore, indexed, installed });
  }
  return batch;
}

/** False when the heads are not skipped. */
function passInStep(
  stored: StoredCursor,
  cache: CacheCursor,
  { inStep, count }: NonNullable<MergeSources['passOver']>,
): boolean {
  // The cache's head is in order, so it comes after everything taken from the listing, and so do the objects of its dataset.
  if (!stored.page || !cache.page || !cache.head || stored.place === undefined) return false;
  const { object, row } = inStep.passOver(stored.page, cache.page, { object: stored.place, row: cache.place });
  const passed = row - cache.place;
  const last = passed > 0 ? cache.page.at(row - 1) : undefined;
  if (!last) return false;
  cache.jump(row);
  stored.jump(object, last);
  count(passed);
  return true;
}

const NOWHERE: MergedDataset['installed'] = new Map();

function firstOf(cursors: readonly MergeCursor<DatasetAddress>[]): DatasetAddress | undefined {
  let first: DatasetAddress | undefined;
  for (const { head } of cursors) if (head && (!first || comesBefore(head, first))) first = head;
  return first;
}
