// The streams of a merge, each with its next dataset. A stream that is out of order fails: reading on would make datasets look
// absent.

import { type DatasetAddress, datasetPrefix } from '../../engine/model/object-key.ts';
import type { PageRows } from '../../engine/ports/dataset-index.ts';
import type { ObjectPage } from '../../engine/ports/object-store.ts';
import { defect } from '../../engine/runtime/failure.ts';
import { DatasetGrouping, type StoredDataset } from '../dataset/stored-dataset.ts';

export abstract class MergeCursor<Row extends DatasetAddress> {
  readonly #name: string;
  #head: Row | undefined;
  #last: DatasetAddress | undefined;
  #fault: Error | undefined;
  /** The head has not been read yet. */
  #behind = false;
  protected over = false;

  constructor(name: string) {
    this.#name = name;
  }

  get head(): Row | undefined {
    this.#catchUp();
    return this.#head;
  }

  /** True when more rows must be fetched. */
  get isEmpty(): boolean {
    return this.head === undefined && !this.over;
  }

  /** Whether the head has been read. It is read lazily, because the caller may skip it unread. */
  protected get isRead(): boolean {
    return !this.#behind;
  }

  /** Throws the stream's failure, or a defect if its next row is out of order. */
  async fill(): Promise<void> {
    while (this.isEmpty) {
      if (this.#fault) throw this.#fault;
      this.#show(await this.nextPage());
    }
    if (this.#fault) throw this.#fault;
  }

  /** Returns the row at the head if it is this dataset's, and advances past it. */
  take(at: DatasetAddress): Row | undefined {
    const { head } = this;
    if (head?.owner !== at.owner || head.dataset !== at.dataset) return undefined;
    this.goPast(head);
    return head;
  }

  /** Skips everything up to and including `last`, all of which was in order. The next row is read on demand. */
  protected goPast(last: DatasetAddress): void {
    this.#last = last;
    this.#head = undefined;
    this.#behind = true;
  }

  /** The first row of the next page; sets `over` when there is no page. */
  protected abstract nextPage(): Promise<Row | undefined>;
  /** The next row of the page. */
  protected abstract advance(): Row | undefined;

  #catchUp(): void {
    if (!this.#behind) return;
    this.#behind = false;
    this.#show(this.advance());
  }

  #show(row: Row | undefined): void {
    this.#head = undefined;
    if (!row) return;
    if (!this.#last || comesBefore(this.#last, row)) this.#head = row;
    else
      this.#fault = defect(
        `${this.#name}: dataset ${datasetPrefix(row)} comes after ${datasetPrefix(this.#last)}, which is not the order of keys`,
      );
  }
}

/** Rows of a database. */
export class RowCursor<Row extends DatasetAddress, Page extends PageRows<Row>> extends MergeCursor<Row> {
  readonly #pages: AsyncIterator<Page>;
  #page: Page | undefined;
  #place = 0;

  constructor(name: string, pages: AsyncIterator<Page>) {
    super(name);
    this.#pages = pages;
  }

  get page(): Page | undefined {
    return this.#page;
  }

  /** The head's index on the page. */
  get place(): number {
    return this.isRead ? this.#place : this.#place + 1;
  }

  /** Jumps to a later row of the page; all rows between were in order. */
  jump(place: number): void {
    this.#place = place - 1;
    const last = this.#page?.at(place - 1);
    if (last) this.goPast(last);
  }

  protected override async nextPage(): Promise<Row | undefined> {
    const next = await this.#pages.next();
    if (next.done) this.over = true;
    this.#page = next.done ? undefined : next.value;
    this.#place = 0;
    return this.#page?.at(0);
  }

  protected override advance(): Row | undefined {
    return this.#page && ++this.#place < this.#page.length ? this.#page.at(this.#place) : undefined;
  }
}

/** Datasets of a listing. */
export class StoredCursor extends MergeCursor<StoredDataset> {
  readonly #pages: AsyncIterator<ObjectPage>;
  readonly #grouping: DatasetGrouping;
  #page: ObjectPage | undefined;
  /** Index of the next object to read. */
  #next = 0;
  /** Where the dataset in progress begins. */
  #openFrom: number | undefined;
  #place: number | undefined;

  constructor(name: string, pages: AsyncIterator<ObjectPage>, onStray?: (key: string) => void) {
    super(name);
    this.#pages = pages;
    this.#grouping = new DatasetGrouping(onStray);
  }

  get page(): ObjectPage | undefined {
    return this.#page;
  }

  /** Index of the head's first object, unless that is on an earlier page. Does not read the head. */
  get place(): number | undefined {
    if (!this.isRead) return this.#openFrom;
    return this.head && this.#place;
  }

  /**
   * Jumps to the dataset that begins with a later object of the page, after `last`. All between were in order and are not read.
   */
  jump(place: number, last: DatasetAddress): void {
    this.#grouping.restart();
    this.#next = place;
    this.#openFrom = place;
    this.goPast(last);
  }

  protected override async nextPage(): Promise<StoredDataset | undefined> {
    const next = await this.#pages.next();
    this.#page = next.done ? undefined : next.value;
    this.#next = 0;
    this.#openFrom = undefined;
    if (!next.done) return this.advance();
    this.over = true;
    this.#place = undefined;
    return this.#grouping.open;
  }

  protected override advance(): StoredDataset | undefined {
    if (!this.#page) return undefined;
    while (this.#next < this.#page.length) {
      const place = this.#next++;
      const info = this.#page.at(place);
      const before = this.#grouping.open;
      const ended = info && this.#grouping.add(info);
      if (this.#grouping.open === before) continue;
      this.#place = this.#openFrom;
      this.#openFrom = place;
      if (ended) return ended;
    }
    return undefined;
  }
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
