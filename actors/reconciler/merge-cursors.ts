// The streams of a merge, each with its next dataset. A stream that is out of order fails: reading on would make datasets look
// absent.

import { type DatasetAddress, datasetPrefix } from '../../engine/model/object-key.ts';
import type { StoreOrdered } from '../../engine/ports/dataset-index.ts';
import type { ObjectInfo } from '../../engine/ports/object-store.ts';
import { defect } from '../../engine/runtime/failure.ts';
import { DatasetGrouping, type StoredDataset } from '../dataset/stored-dataset.ts';

/** Rows of a page: so many that the round trip is small beside them. */
export const PAGE = 1_000;

/** Rows of a page of each of several indexes, which together hold no more than two pages of one alone. */
export const pageOf = (indexes: number): number => Math.min(PAGE, Math.ceil((2 * PAGE) / indexes));

export class MergeCursor<Row extends DatasetAddress> {
  readonly #name: string;
  readonly #pages: AsyncIterator<readonly Row[]>;
  #page: readonly Row[] = [];
  #place = 0;
  #last: DatasetAddress | undefined;
  #over = false;
  #fault: Error | undefined;

  constructor(name: string, pages: AsyncIterator<readonly Row[]>) {
    this.#name = name;
    this.#pages = pages;
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
      const next = await this.#pages.next();
      if (next.done) this.#over = true;
      this.#page = next.done ? [] : next.value;
      this.#place = 0;
      this.#checkOrder();
    }
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

/** All rows of an index. Nothing is held in the database between two pages. */
export async function* pagesOf<Row extends DatasetAddress>(
  index: StoreOrdered<Row>,
  rows: number,
  signal: AbortSignal,
): AsyncGenerator<readonly Row[], void, undefined> {
  for (let after: Row | undefined; ; ) {
    const page = await index.page(after, rows, signal);
    if (page.length > 0) yield page;
    // Fewer than were asked for are the last ones.
    if (page.length < rows) return;
    after = page.at(-1);
  }
}

/**
 * The datasets of a listing, page by page; one that goes on beyond a page comes with the page that it ends on.
 * @param onStray hears of keys that are below no dataset and belong to no other service
 */
export async function* storedPages(
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
