// Datasets of which the cache says exactly what the store's listing says, passed over many at a time. Nearly all of a
// million are so, and to make objects of their keys and rows, only to find that nothing is to be done, is most of a run:
// here the bytes of both are compared as they came.
//   passed over   the row's address and versions are those of the listed objects, and a dataset of the same shape (which
//                 objects there are, everything else that its row says) was found in step by the decision itself
//   anything else ends a run, and is looked at one by one: what is no name of ours, shares, a page's last dataset
// Only for runs without install targets, whose rows say more.

import {
  DATASET_OBJECTS,
  type DatasetAddress,
  type DatasetObject,
  FILE_FOLDERS,
} from '../../engine/model/object-key.ts';
import type { DatasetColumns, DatasetPage } from '../../engine/ports/dataset-index.ts';
import type { ObjectColumns, ObjectPage } from '../../engine/ports/object-store.ts';
import { sameBytes, viewOf } from '../../engine/runtime/same-bytes.ts';
import { DatasetGrouping } from '../dataset/stored-dataset.ts';
import type { MergedDataset } from './merge-in-store-order.ts';

/** Where a run begins or ends. */
export interface InStepPlace {
  /** First object of a dataset. */
  readonly object: number;
  readonly row: number;
}

/** What is kept of each name of ours: its bytes, and a bit of its own. */
interface Name {
  readonly bytes: DataView;
  readonly bit: number;
}

const OBJECTS: readonly Name[] = DATASET_OBJECTS.map((name, place) => ({
  bytes: viewOf(Buffer.from(name)),
  bit: 1 << place,
}));
/** Only of raw files it matters whether there are any; those of the other folders are compared by install targets. */
const FOLDERS: readonly Name[] = FILE_FOLDERS.map((name) => ({
  bytes: viewOf(Buffer.from(`${name}/`)),
  bit: name === 'raw' ? 1 << DATASET_OBJECTS.length : 0,
}));
const bitOf = (name: DatasetObject): number => 1 << DATASET_OBJECTS.indexOf(name);
const [META, DATA] = [bitOf('vdi-meta.json'), bitOf('install-ready.zip')];
const [NONE, SLASH] = [-1, 47];
/** Bytes that two keys next to each other are compared by first. */
const ALIKE = 16;
/** Shapes that are remembered. */
const SHAPES = 1_000;

export class InStep {
  readonly #isInStep: (one: MergedDataset) => boolean;
  readonly #shapes = new Map<string, boolean>();
  /** The shape seen last, as most are the same. */
  #bits = NONE;
  #rest = viewOf(new Uint8Array());
  #verdict = false;
  /** The page compared last, and memory for columns of the next. */
  #page: DatasetPage | undefined;
  #columns: DatasetColumns | undefined;
  #spare: DatasetColumns | undefined;

  /** @param isInStep told from the shape of a dataset whose versions are the same in store and cache */
  constructor(isInStep: (one: MergedDataset) => boolean) {
    this.#isInStep = isInStep;
  }

  /** Where the first dataset lies that is not passed over; `from` itself when that is the first one. */
  passOver(objects: ObjectPage, datasets: DatasetPage, from: InStepPlace): InStepPlace {
    const { columns: stored } = objects;
    const known = stored && this.#columnsOf(datasets);
    let { object, row } = from;
    if (!stored || !known) return from;
    const group = new Group(stored, known);
    while (row < datasets.length) {
      const end = group.match(object, row);
      if (end === NONE || end >= stored.length) break;
      // What is out of order is told of by whoever looks at it one by one.
      if (row > from.row && !group.isAfterLast(object)) break;
      if (!this.#isShapeInStep(objects, datasets, known, group, { object, row })) break;
      group.last = object;
      object = end;
      row++;
    }
    return { object, row };
  }

  #columnsOf(page: DatasetPage): DatasetColumns | undefined {
    if (page === this.#page) return this.#columns;
    this.#page = page;
    this.#columns = page.columns?.(this.#spare);
    this.#spare = this.#columns ?? this.#spare;
    return this.#columns;
  }

  #isShapeInStep(
    objects: ObjectPage,
    datasets: DatasetPage,
    known: DatasetColumns,
    group: Group,
    at: InStepPlace,
  ): boolean {
    const from = known.places[at.row * 8 + 7] as number;
    const to = known.ends[at.row] as number;
    const isLast = group.bits === this.#bits && to - from === this.#rest.byteLength;
    if (isLast && sameBytes(group.line, from, this.#rest, 0, to - from)) return this.#verdict;
    // A copy: the columns of the next page come to lie where these do.
    const rest = Buffer.from(known.bytes.subarray(from, to));
    this.#rest = viewOf(rest);
    this.#bits = group.bits;
    const shape = `${group.bits} ${rest.toString('utf8')}`;
    const verdict = this.#shapes.get(shape) ?? this.#isInStep(mergedAt(objects, datasets, at, group.end));
    if (this.#shapes.size >= SHAPES) this.#shapes.clear();
    this.#shapes.set(shape, verdict);
    this.#verdict = verdict;
    return verdict;
  }
}

/** A dataset of the listing beside a row. */
class Group {
  readonly #stored: ObjectColumns;
  readonly #known: DatasetColumns;
  readonly #key: DataView;
  /** The bytes of the rows. */
  readonly line: DataView;
  /** Bytes of `{owner}/{dataset}/`. */
  #prefix = 0;
  /** First object of the one before. */
  last = 0;
  /** Of the names that there are. */
  bits = 0;
  /** After its last object. */
  end = 0;

  constructor(stored: ObjectColumns, known: DatasetColumns) {
    this.#stored = stored;
    this.#known = known;
    this.#key = viewOf(stored.bytes);
    this.line = viewOf(known.bytes);
  }

  /** Where the next dataset begins; NONE when this one is not the row's, or not in the version that the row says. */
  match(object: number, row: number): number {
    if (!this.#isRows(object, row)) return NONE;
    this.bits = 0;
    let [meta, data] = [NONE, NONE];
    let at = object;
    for (; at < this.#stored.length && (at === object || this.#isSameDataset(object, at)); at++) {
      const bit = this.#nameAt(at);
      if (bit === NONE) return NONE;
      if (bit === META) meta = at;
      if (bit === DATA) data = at;
      this.bits |= bit;
    }
    this.end = at;
    const { metaMs, dataMs } = this.#known;
    if (meta === NONE || !this.#isVersion(meta, row * 8 + 3, metaMs[row] as number)) return NONE;
    return data === NONE || this.#isVersion(data, row * 8 + 5, dataMs[row] as number) ? at : NONE;
  }

  /** Whether the key of this object comes after that of {@link last}; bytes of keys are what the listing is ordered by. */
  isAfterLast(object: number): boolean {
    const { bytes, places } = this.#stored;
    const [a, b] = [places[this.last * 4] as number, places[object * 4] as number];
    // Most begin alike.
    let n = this.#prefix > ALIKE && sameBytes(this.#key, a, this.#key, b, ALIKE) ? ALIKE : 0;
    for (; n < this.#prefix; n++) {
      const [before, after] = [bytes[a + n] as number, bytes[b + n] as number];
      if (before !== after) return before < after;
    }
    return false;
  }

  #isRows(object: number, row: number): boolean {
    const { places } = this.#stored;
    const { places: fields } = this.#known;
    const key = places[object * 4] as number;
    const owner = fields[row * 8] as number;
    const ownerEnd = fields[row * 8 + 1] as number;
    const datasetEnd = fields[row * 8 + 2] as number;
    this.#prefix = datasetEnd - owner + 1;
    if ((places[object * 4 + 1] as number) - key < this.#prefix) return false;
    const slash = key + ownerEnd - owner;
    return (
      this.#key.getUint8(slash) === SLASH &&
      this.#key.getUint8(key + this.#prefix - 1) === SLASH &&
      sameBytes(this.#key, slash + 1, this.line, ownerEnd + 1, datasetEnd - ownerEnd - 1) &&
      sameBytes(this.#key, key, this.line, owner, ownerEnd - owner)
    );
  }

  #isSameDataset(first: number, object: number): boolean {
    const { places } = this.#stored;
    const [a, b] = [places[first * 4] as number, places[object * 4] as number];
    if ((places[object * 4 + 1] as number) - b < this.#prefix) return false;
    // From the end, where keys of different datasets differ.
    for (let n = this.#prefix - 1; n >= 0; n--)
      if (this.#key.getUint8(a + n) !== this.#key.getUint8(b + n)) return false;
    return true;
  }

  /** The bit of a name; NONE for what is not known, or known to matter otherwise. */
  #nameAt(object: number): number {
    const { places } = this.#stored;
    const from = (places[object * 4] as number) + this.#prefix;
    const to = places[object * 4 + 1] as number;
    const [key, length] = [this.#key, to - from];
    for (const { bytes, bit } of OBJECTS)
      if (bytes.byteLength === length && sameBytes(key, from, bytes, 0, length)) return bit;
    for (const { bytes, bit } of FOLDERS) {
      const { byteLength } = bytes;
      if (byteLength >= length || !sameBytes(key, from, bytes, 0, byteLength)) continue;
      for (let at = from + byteLength; at < to; at++) if (key.getUint8(at) === SLASH) return NONE;
      return bit;
    }
    return NONE;
  }

  #isVersion(object: number, place: number, ms: number): boolean {
    const { places, modifiedMs } = this.#stored;
    const { places: fields } = this.#known;
    if (modifiedMs[object] !== ms) return false;
    const [from, to] = [places[object * 4 + 2] as number, places[object * 4 + 3] as number];
    const [etag, end] = [fields[place] as number, fields[place + 1] as number];
    return end - etag === to - from && sameBytes(this.#key, from, this.line, etag, to - from);
  }
}

/** The dataset as the decision wants it. */
function mergedAt(
  objects: ObjectPage,
  datasets: DatasetPage,
  { object, row }: InStepPlace,
  end: number,
): MergedDataset {
  const grouping = new DatasetGrouping();
  for (let n = object; n < end; n++) {
    const info = objects.at(n);
    if (info) grouping.add(info);
  }
  const indexed = datasets.at(row);
  const { owner, dataset } = indexed as DatasetAddress;
  return { owner, dataset, stored: grouping.open, indexed, installed: new Map() };
}
