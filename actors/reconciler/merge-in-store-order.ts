// What the object store and the databases know, side by side, dataset by dataset: a merge of streams that are all in the
// order of the store's keys. One page of each is held, however many there are; in a merge with install targets, the databases
// read their next one meanwhile.
//   a stream out of order   refused (`MergeCursor`)
//   listing, cache          must answer: their failure is the merge's
//   a target index          that fails is told of, and its install targets are left out from there on
// Datasets come in batches, as many as were at hand, because to wait for each alone would be most of a run's time.

import type { TargetId } from '../../engine/model/ids.ts';
import { type DatasetAddress, datasetPrefix } from '../../engine/model/object-key.ts';
import type { IndexedDataset, InstalledDataset, StoreOrdered, TargetIndex } from '../../engine/ports/catalog.ts';
import type { InstalledState } from '../../engine/ports/install-target.ts';
import type { ObjectInfo } from '../../engine/ports/object-store.ts';
import { defect, kindOf } from '../../engine/runtime/failure.ts';
import { DatasetGrouping, type StoredDataset } from '../dataset/stored-dataset.ts';

interface MergeSources {
  /** The listing, not begun yet; is closed however the merge ends. */
  readonly stored: AsyncIterable<readonly ObjectInfo[]>;
  /** Datasets up to and including this one are left out; the listing starts at {@link keysAfter} it. */
  readonly after?: DatasetAddress | undefined;
  readonly cache: StoreOrdered<IndexedDataset>;
  readonly targets: Iterable<TargetIndex>;
  /** Called with keys that are below no dataset and belong to no other service. */
  readonly onStray?: (key: string) => void;
}

export interface MergedDataset extends DatasetAddress {
  readonly stored: StoredDataset | undefined;
  readonly indexed: IndexedDataset | undefined;
  /** Per target that answers; undefined if the target does not know the dataset. */
  readonly installed: ReadonlyMap<TargetId, InstalledState | undefined>;
}

type TargetCursors = ReadonlyMap<TargetIndex, MergeCursor<InstalledDataset>>;

/**
 * Every dataset that any source knows, once, in the order of the store's keys.
 * @param onLeftOut called with an index that failed; its install targets are not compared from there on
 */
export async function* mergeInStoreOrder(
  sources: MergeSources,
  onLeftOut: (index: TargetIndex, error: unknown) => void,
  signal: AbortSignal,
): AsyncGenerator<readonly MergedDataset[], void, undefined> {
  const listing = storedPages(sources.stored, sources.onStray);
  try {
    const { after } = sources;
    const indexes = [...sources.targets];
    const stored = new MergeCursor('object store', listing);
    const cache = new MergeCursor('cache', pagesOf(sources.cache, PAGE, signal, after), indexes.length > 0);
    const rows = pageOf(indexes);
    const cursorOf = (index: TargetIndex): MergeCursor<InstalledDataset> =>
      new MergeCursor(index.targets.join(', '), pagesOf(index, rows, signal, after), true);
    const targets = new Map(indexes.map((index) => [index, cursorOf(index)] as const));
    // The first pages of all of them at once.
    for (const cursor of [cache, ...targets.values()]) cursor.readAhead();
    for (;;) {
      signal.throwIfAborted();
      await stored.fill();
      await cache.fill();
      for (const [index, cursor] of targets) {
        try {
          await cursor.fill();
        } catch (error) {
          if (signal.aborted || kindOf(error) === 'aborted') throw error;
          targets.delete(index);
          onLeftOut(index, error);
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
    batch.push({ owner, dataset, stored: inStore, indexed, installed: statesOf(targets, first) });
  }
  return batch;
}

function statesOf(targets: TargetCursors, at: DatasetAddress): MergedDataset['installed'] {
  const all = new Map<TargetId, InstalledState | undefined>();
  for (const [index, cursor] of targets) {
    const row = cursor.take(at);
    // Usual, and then the row says it all.
    if (targets.size === 1 && row?.installs.size === index.targets.length) return row.installs;
    for (const id of index.targets) all.set(id, row?.installs.get(id));
  }
  return all;
}

function firstOf(cursors: readonly MergeCursor<DatasetAddress>[]): DatasetAddress | undefined {
  let first: DatasetAddress | undefined;
  for (const { head } of cursors) if (head && (!first || comesBefore(head, first))) first = head;
  return first;
}

// The streams of a merge, each with its next dataset. A stream that is out of order fails: reading on would make datasets look
// absent.

/** Rows of a page: so many that the round trip is small beside them. */
export const PAGE = 1_000;

/** Rows of a page of each index. The pages of all of them have no more states of targets than two pages of one target. */
function pageOf(indexes: readonly TargetIndex[]): number {
  const targets = indexes.reduce((sum, index) => sum + index.targets.length, 0);
  return Math.min(PAGE, Math.ceil((2 * PAGE) / targets));
}

class MergeCursor<Row extends DatasetAddress> {
  readonly #name: string;
  readonly #pages: AsyncIterator<readonly Row[]>;
  readonly #readsAhead: boolean;
  #next: Promise<IteratorResult<readonly Row[]>> | undefined;
  #page: readonly Row[] = [];
  #place = 0;
  #last: DatasetAddress | undefined;
  #over = false;
  #fault: Error | undefined;

  /** @param readsAhead the next page is read while the caller works on this one */
  constructor(name: string, pages: AsyncIterator<readonly Row[]>, readsAhead = false) {
    this.#name = name;
    this.#pages = pages;
    this.#readsAhead = readsAhead;
  }

  get head(): Row | undefined {
    return this.#fault ? undefined : this.#page[this.#place];
  }

  /** True when more rows must be fetched. */
  get isEmpty(): boolean {
    return this.head === undefined && !this.#over;
  }

  /** Throws the stream's failure, or a defect if its next row is out of order. */
  async fill(): Promise<void> {
    while (this.isEmpty) {
      if (this.#fault) throw this.#fault;
      const next = await (this.#next ?? this.#pages.next());
      this.#next = undefined;
      if (next.done) this.#over = true;
      else this.readAhead();
      this.#page = next.done ? [] : next.value;
      this.#place = 0;
      this.#checkOrder();
    }
  }

  readAhead(): void {
    if (!this.#readsAhead) return;
    this.#next = this.#pages.next();
    // Its failure is that of the `fill` that needs it. A merge that ends before does not care.
    this.#next.catch(() => undefined);
  }

  /** Returns the row at the head if it is this dataset's, and advances past it. */
  take(at: DatasetAddress): Row | undefined {
    const { head } = this;
    if (head?.owner !== at.owner || head.dataset !== at.dataset) return undefined;
    this.#last = head;
    this.#place++;
    this.#checkOrder();
    return head;
  }

  #checkOrder(): void {
    const { head } = this;
    if (head && this.#last && !comesBefore(this.#last, head))
      this.#fault = defect(
        `${this.#name}: dataset ${datasetPrefix(head)} comes after ${datasetPrefix(this.#last)}, which is not the order of keys`,
      );
  }
}

/** All rows of an index, or those after a dataset. Nothing is held in the database between two pages. */
async function* pagesOf<Row extends DatasetAddress>(
  index: StoreOrdered<Row>,
  rows: number,
  signal: AbortSignal,
  after?: DatasetAddress,
): AsyncGenerator<readonly Row[], void, undefined> {
  for (let last = after; ; ) {
    const page = await index.page(last, rows, signal);
    if (page.length > 0) yield page;
    // Fewer than were asked for are the last ones.
    if (page.length < rows) return;
    last = page.at(-1);
  }
}

/**
 * The datasets of a listing, page by page; one that goes on beyond a page comes with the page that it ends on.
 * @param onStray hears of keys that are below no dataset and belong to no other service
 */
async function* storedPages(
  listing: AsyncIterable<readonly ObjectInfo[]>,
  onStray?: (key: string) => void,
): AsyncGenerator<readonly StoredDataset[], void, undefined> {
  const grouping = new DatasetGrouping(onStray);
  for await (const page of listing) {
    const ended: StoredDataset[] = [];
    for (const info of page) {
      const dataset = grouping.add(info);
      if (dataset) ended.push(dataset);
    }
    yield ended;
  }
  if (grouping.open) yield [grouping.open];
}

/** Compares in the order of `datasetPrefix` without building its string. */
export function comesBefore(a: DatasetAddress, b: DatasetAddress): boolean {
  return a.owner === b.owner ? isBefore(a.dataset, b.dataset) : isBefore(a.owner, b.owner);
}

/**
 * Whether `a/` comes before `b/`. Owners and ids are ASCII, so string order is byte order. If one is a prefix of the other, the
 * slash decides: `R/` comes before `R_1/` and after `R-1/`.
 */
function isBefore(a: string, b: string): boolean {
  if (a.length < b.length && b.startsWith(a)) return b.charCodeAt(a.length) > SLASH;
  if (b.length < a.length && a.startsWith(b)) return a.charCodeAt(b.length) < SLASH;
  return a < b;
}

const SLASH = 47;

/** Where a listing starts that leaves out the dataset and everything before it: `0` follows the slash of the dataset's prefix. */
export const keysAfter = ({ owner, dataset }: DatasetAddress): string => `${owner}/${dataset}0`;
