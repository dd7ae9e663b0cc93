// What the object store and the databases know, side by side, dataset by dataset: a merge of streams that are all in the
// order of the store's keys. One page of each is held, however many there are.
//   a stream out of order   refused (merge-cursors.ts)
//   listing, cache          must answer: their failure is the merge's
//   an install target       that fails is told of and left out from there on
// Datasets come in batches, as many as were at hand, because to wait for each alone would be most of a run's time.

import type { TargetId } from '../../engine/model/ids.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import type { IndexedDataset, InstalledDataset, StoreOrdered, TargetIndex } from '../../engine/ports/dataset-index.ts';
import type { ControlState } from '../../engine/ports/install-target.ts';
import type { ObjectInfo } from '../../engine/ports/object-store.ts';
import { kindOf } from '../../engine/runtime/failure.ts';
import type { StoredDataset } from '../dataset/stored-dataset.ts';
import { comesBefore, MergeCursor, PAGE, pageOf, pagesOf, storedPages } from './merge-cursors.ts';

export interface MergeSources {
  /** The listing, not begun yet; is closed however the merge ends. */
  readonly stored: AsyncIterable<readonly ObjectInfo[]>;
  readonly cache: StoreOrdered<IndexedDataset>;
  readonly targets: ReadonlyMap<TargetId, TargetIndex>;
  /** Called with keys that are below no dataset and belong to no other service. */
  readonly onStray?: (key: string) => void;
}

export interface MergedDataset extends DatasetAddress {
  readonly stored: StoredDataset | undefined;
  readonly indexed: IndexedDataset | undefined;
  /** Per target that answers; undefined if the target does not know the dataset. */
  readonly installed: ReadonlyMap<TargetId, ControlState | undefined>;
}

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
  const listing = storedPages(sources.stored, sources.onStray);
  try {
    const stored = new MergeCursor('object store', listing);
    const cache = new MergeCursor('cache', pagesOf(sources.cache, PAGE, signal));
    const rows = pageOf(sources.targets.size);
    const targets = new Map(
      [...sources.targets].map(([id, index]) => [id, new MergeCursor(id, pagesOf(index, rows, signal))] as const),
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
      yield atHand(stored, cache, targets);
    }
  } finally {
    await listing.return();
  }
}

/** Takes datasets until more rows must be fetched. */
function atHand(
  stored: MergeCursor<StoredDataset>,
  cache: MergeCursor<IndexedDataset>,
  targets: TargetCursors,
): readonly MergedDataset[] {
  const batch: MergedDataset[] = [];
  const cursors = [stored, cache, ...targets.values()];
  while (!cursors.some((cursor) => cursor.isEmpty)) {
    const first = firstOf(cursors);
    if (!first) break;
    const { owner, dataset } = first;
    const [inStore, indexed] = [stored.take(first), cache.take(first)];
    const installed = new Map([...targets].map(([id, cursor]) => [id, cursor.take(first)?.control] as const));
    batch.push({ owner, dataset, stored: inStore, indexed, installed });
  }
  return batch;
}

function firstOf(cursors: readonly MergeCursor<DatasetAddress>[]): DatasetAddress | undefined {
  let first: DatasetAddress | undefined;
  for (const { head } of cursors) if (head && (!first || comesBefore(head, first))) first = head;
  return first;
}
