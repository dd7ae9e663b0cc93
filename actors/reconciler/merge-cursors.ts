// The streams of a merge, each with the dataset that comes next. A stream that is out of order is refused: read on, it would
// make datasets look absent.

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
  /** The head is not read yet. */
  #behind = false;
  protected over = false;

  constructor(name: string) {
    this.#name = name;
  }

  get head(): Row | undefined {
    this.#catchUp();
    return this.#head;
  }

  /** Rows have to be asked for. */
  get isEmpty(): boolean {
    return this.head === undefined && !this.over;
  }

  /** Whether the head is read: it is when it is asked for, for it may be passed over unread. */
  protected get isRead(): boolean {
    return !this.#behind;
  }

  /** Throws what the stream fails with, and when its next row is out of order. */
  async fill(): Promise<void> {
    while (this.isEmpty) {
      if (this.#fault) throw this.#fault;
      this.#show(await this.nextPage());
    }
    if (this.#fault) throw this.#fault;
  }

  /** The row at the head when it is this dataset's, which makes room for the next. */
  take(at: DatasetAddress): Row | undefined {
    const { head } = this;
    if (head?.owner !== at.owner || head.dataset !== at.dataset) return undefined;
    this.goPast(head);
    return head;
  }

  /** Leaves everything up to `last` behind, all of which was in order; what comes next is read when it is asked for. */
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

  /** Of the head. */
  get place(): number {
    return this.isRead ? this.#place : this.#place + 1;
  }

  /** To a later row of the page; all between them were in order. */
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
  /** The object to be read next. */
  #next = 0;
  /** Where the dataset began that is being read. */
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

  /** First object of the head, unless that lies on a page before; told without reading the head. */
  get place(): number | undefined {
    if (!this.isRead) return this.#openFrom;
    return this.head && this.#place;
  }

  /** To the dataset that begins with a later object of the page, after `last`; all between them were in order, and are not read. */
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

/** In the order of `datasetPrefix`, whose text is not made for it. */
export function comesBefore(a: DatasetAddress, b: DatasetAddress): boolean {
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
