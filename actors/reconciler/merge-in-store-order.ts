// What the object store and the databases know, side by side, dataset by dataset: a merge of streams that are all in the
// order of the store's keys. One dataset of the listing and one page per database are held, however many there are.
//   a stream out of order   refused: read on, it would make datasets look absent
//   listing, cache          must answer: their failure is the merge's
//   an install target       that fails is told of and left out from there on

import { defect, kindOf } from '../../engine/failure.ts';
import type { TargetId } from '../../engine/model/ids.ts';
import { type DatasetAddress, datasetPrefix } from '../../engine/model/object-key.ts';
import type { IndexedDataset, StoreOrdered, TargetIndex } from '../../engine/ports/dataset-index.ts';
import type { ControlState } from '../../engine/ports/install-target.ts';
import type { StoredDataset } from '../dataset/stored-dataset.ts';

/** Rows of a database that are held at once. */
export const PAGE = 500;

export interface MergeSources {
  /** Not begun yet; is closed however the merge ends. */
  readonly stored: AsyncIterable<StoredDataset>;
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
): AsyncGenerator<MergedDataset, void, undefined> {
  const listing = sources.stored[Symbol.asyncIterator]();
  try {
    const stored = new Cursor('object store', oneByOne(listing));
    const cache = new Cursor('cache', paged(sources.cache));
    const targets = new Map([...sources.targets].map(([id, index]) => [id, new Cursor(id, paged(index))] as const));
    for (;;) {
      signal.throwIfAborted();
      if (stored.isEmpty) await stored.fill(signal);
      if (cache.isEmpty) await cache.fill(signal);
      for (const [id, cursor] of targets) {
        if (!cursor.isEmpty) continue;
        try {
          await cursor.fill(signal);
        } catch (error) {
          if (signal.aborted || kindOf(error) === 'aborted') throw error;
          targets.delete(id);
          onLeftOut(id, error);
        }
      }
      const first = firstOf([stored.head, cache.head, ...[...targets.values()].map(({ head }) => head)]);
      if (!first) return;
      const installed = new Map([...targets].map(([id, cursor]) => [id, cursor.take(first)?.control] as const));
      const { owner, dataset } = first;
      yield { owner, dataset, stored: stored.take(first), indexed: cache.take(first), installed };
    }
  } finally {
    await listing.return?.();
  }
}

/** The next rows, empty at the end. */
type NextRows<Row> = (after: Row | undefined, signal: AbortSignal) => Promise<readonly Row[]>;

const oneByOne =
  <Row>(iterator: AsyncIterator<Row>): NextRows<Row> =>
  async () => {
    const next = await iterator.next();
    return next.done ? [] : [next.value];
  };

function paged<Row extends DatasetAddress>(index: StoreOrdered<Row>): NextRows<Row> {
  let short = false;
  return async (after, signal) => {
    if (short) return [];
    const rows = await index.page(after, PAGE, signal);
    // Fewer than were asked for are the last ones.
    short = rows.length < PAGE;
    return rows;
  };
}

class Cursor<Row extends DatasetAddress> {
  readonly #name: string;
  readonly #next: NextRows<Row>;
  #rows: readonly Row[] = [];
  #place = 0;
  #last: Row | undefined;
  #over = false;

  constructor(name: string, next: NextRows<Row>) {
    this.#name = name;
    this.#next = next;
  }

  get head(): Row | undefined {
    return this.#rows[this.#place];
  }

  /** Rows have to be asked for. */
  get isEmpty(): boolean {
    return !this.#over && this.head === undefined;
  }

  async fill(signal: AbortSignal): Promise<void> {
    this.#rows = [];
    const rows = await this.#next(this.#last, signal);
    for (const row of rows) {
      if (this.#last && !comesBefore(this.#last, row))
        throw defect(
          `${this.#name}: dataset ${datasetPrefix(row)} comes after ${datasetPrefix(this.#last)}, which is not the order of keys`,
        );
      this.#last = row;
    }
    this.#rows = rows;
    this.#place = 0;
    this.#over = rows.length === 0;
  }

  /** The row at the head when it is this dataset's, which makes room for the next. */
  take(at: DatasetAddress): Row | undefined {
    const { head } = this;
    if (head?.owner !== at.owner || head.dataset !== at.dataset) return undefined;
    this.#place++;
    return head;
  }
}

function firstOf(heads: readonly (DatasetAddress | undefined)[]): DatasetAddress | undefined {
  let first: DatasetAddress | undefined;
  for (const head of heads) if (head && (!first || comesBefore(head, first))) first = head;
  return first;
}

/** Owners and ids are ASCII, where the order of strings is that of bytes; `R/` comes before `R_1/`. */
const comesBefore = (a: DatasetAddress, b: DatasetAddress): boolean => datasetPrefix(a) < datasetPrefix(b);
