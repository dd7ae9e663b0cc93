// What the object store and the databases know, side by side, dataset by dataset: a merge of streams that are all in the
// order of the store's keys. One page of the listing and two per database are held, however many there are.
//   a stream out of order   refused: read on, it would make datasets look absent
//   listing, cache          must answer: their failure is the merge's
//   an install target       that fails is told of and left out from there on
// Datasets come in batches, as many as were at hand, because to wait for each alone would be most of a run's time.

import { defect, kindOf } from '../../engine/failure.ts';
import type { TargetId } from '../../engine/model/ids.ts';
import { type DatasetAddress, datasetPrefix } from '../../engine/model/object-key.ts';
import type {
  IndexedDataset,
  InstalledDataset,
  PageRows,
  StoreOrdered,
  TargetIndex,
} from '../../engine/ports/dataset-index.ts';
import type { ControlState } from '../../engine/ports/install-target.ts';
import type { StoredDataset } from '../dataset/stored-dataset.ts';
import { PAGE, pageOf, pagesAhead } from './pages-ahead.ts';

export interface MergeSources {
  /** Not begun yet; is closed however the merge ends. */
  readonly stored: AsyncIterable<readonly StoredDataset[]>;
  readonly cache: StoreOrdered<IndexedDataset>;
  readonly targets: ReadonlyMap<TargetId, TargetIndex>;
}

export interface MergedDataset extends DatasetAddress {
  readonly stored: StoredDataset | undefined;
  readonly indexed: IndexedDataset | undefined;
  /** Of every target that answers; undefined where the target does not know the dataset. */
  readonly installed: ReadonlyMap<TargetId, ControlState | undefined>;
}

/**
 * Every dataset that anybody knows, once, in the order of the store's keys.
 * @param onLeftOut hears of an install target that failed; what it knows is not compared from there on
 */
export async function* mergeInStoreOrder(
  sources: MergeSources,
  onLeftOut: (target: TargetId, error: unknown) => void,
  signal: AbortSignal,
): AsyncGenerator<readonly MergedDataset[], void, undefined> {
  const listing = sources.stored[Symbol.asyncIterator]();
  try {
    const stored = new Cursor('object store', listing);
    const cache = new Cursor('cache', pagesAhead(sources.cache, PAGE, signal));
    const targets = new Map(
      [...sources.targets].map(
        ([id, index]) => [id, new Cursor(id, pagesAhead(index, pageOf(sources.targets.size), signal))] as const,
      ),
    );
    for (;;) {
      signal.throwIfAborted();
      if (stored.isEmpty) await stored.fill();
      if (cache.isEmpty) await cache.fill();
      for (const [id, cursor] of targets) {
        if (!cursor.isEmpty) continue;
        try {
          await cursor.fill();
        } catch (error) {
          if (signal.aborted || kindOf(error) === 'aborted') throw error;
          targets.delete(id);
          onLeftOut(id, error);
        }
      }
      const batch = atHand(stored, cache, targets);
      if (batch.length === 0) return;
      yield batch;
    }
  } finally {
    await listing.return?.();
  }
}

/** Takes datasets until rows have to be asked for; none when all streams are over. */
function atHand(
  stored: Cursor<StoredDataset>,
  cache: Cursor<IndexedDataset>,
  targets: ReadonlyMap<TargetId, Cursor<InstalledDataset>>,
): readonly MergedDataset[] {
  const batch: MergedDataset[] = [];
  const cursors = [stored, cache, ...targets.values()];
  while (!cursors.some((cursor) => cursor.isEmpty)) {
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

const NOWHERE: MergedDataset['installed'] = new Map();

class Cursor<Row extends DatasetAddress> {
  readonly #name: string;
  readonly #pages: AsyncIterator<PageRows<Row>>;
  #rows: Iterator<Row> = [].values();
  #head: Row | undefined;
  #last: Row | undefined;
  #over = false;
  #fault: Error | undefined;

  constructor(name: string, pages: AsyncIterator<PageRows<Row>>) {
    this.#name = name;
    this.#pages = pages;
  }

  get head(): Row | undefined {
    return this.#head;
  }

  /** Rows have to be asked for. */
  get isEmpty(): boolean {
    return this.#head === undefined && !this.#over;
  }

  /** Throws what the stream fails with, and when its next row is out of order. */
  async fill(): Promise<void> {
    if (this.#fault) throw this.#fault;
    const next = await this.#pages.next();
    if (next.done) this.#over = true;
    else this.#rows = next.value[Symbol.iterator]();
    this.#advance();
    if (this.#fault) throw this.#fault;
  }

  /** The row at the head when it is this dataset's, which makes room for the next. */
  take(at: DatasetAddress): Row | undefined {
    const head = this.#head;
    if (head?.owner !== at.owner || head.dataset !== at.dataset) return undefined;
    this.#last = head;
    this.#advance();
    return head;
  }

  #advance(): void {
    const { value, done } = this.#rows.next();
    this.#head = undefined;
    if (done) return;
    if (!this.#last || comesBefore(this.#last, value)) this.#head = value;
    else
      this.#fault = defect(
        `${this.#name}: dataset ${datasetPrefix(value)} comes after ${datasetPrefix(this.#last)}, which is not the order of keys`,
      );
  }
}

function firstOf(cursors: readonly Cursor<DatasetAddress>[]): DatasetAddress | undefined {
  let first: DatasetAddress | undefined;
  for (const { head } of cursors) if (head && (!first || comesBefore(head, first))) first = head;
  return first;
}

/** In the order of `datasetPrefix`, whose text is not made for it. */
function comesBefore(a: DatasetAddress, b: DatasetAddress): boolean {
  return a.owner === b.owner ? isBefore(a.dataset, b.dataset) : isBefore(a.owner, b.owner);
}

/**
 * Whether `a/` comes before `b/`. Owners and ids are ASCII, where the order of strings is that of bytes; of two of which
 * one begins with the other the slash decides: `R/` comes before `R_1/` and after `R-1/`.
 */
function isBefore(a: string, b: string): boolean {
  if (a.length < b.length && b.startsWith(a)) return b.charCodeAt(a.length) > SLASH;
  if (b.length < a.length && a.startsWith(b)) return a.charCodeAt(b.length) < SLASH;
  return a < b;
}

const SLASH = 47;
