// A dataset of the cache as the column `dataset.line` tells of it (migrations/cache/0004-catalog.sql), and a page of datasets as the
// lines of one text: a row that is one short value costs server and driver a fifth of one with a column for each part, and
// a full run of the reconciler reads all rows. Fields are separated by tabs and escaped as COPY escapes them:
//   owner, dataset; ms and etag of the synced metadata, data and shares, empty where never synced; then, in a part that
//   many lines share word for word: state, name and version of the type, upload and import status, install targets

import type { DatasetId, TargetId, UserId } from '../../model/ids.ts';
import type { DatasetState, ImportStatus, UploadStatus } from '../../model/status.ts';
import type { ObjectVersion } from '../../ports/catalog.ts';
import type { DatasetColumns, DatasetPage, IndexedDataset } from '../../ports/dataset-index.ts';
import { defect } from '../../runtime/failure.ts';
import { datasetColumns } from './dataset-line-columns.ts';

type Shared = Pick<IndexedDataset, 'state' | 'type' | 'installTargets' | 'upload' | 'import'>;

/** Rows of a page, read from its text one by one: what is made of a line lives no longer than it is looked at. */
export class DatasetLines implements DatasetPage {
  readonly length: number;
  readonly #lines: string;
  /** A line and where it begins. */
  #place = 0;
  #start = 0;
  /** Of the line read last; the next one's are often the same. */
  #owner = '';
  #rest = '';
  #shared: Shared | undefined;

  /** @param lines separated by newlines; null for none */
  constructor(lines: string | null, length: number) {
    this.#lines = lines ?? '';
    this.length = length;
  }

  /** Undefined where lines are not plain enough. */
  columns(spare?: DatasetColumns): DatasetColumns | undefined {
    return datasetColumns(this.#lines, this.length, spare);
  }

  /** The last one costs no more than itself, others the way from the one asked for before. */
  at(place: number): IndexedDataset | undefined {
    if (place === -1 && this.length > 0) return this.#read(this.#lines.lastIndexOf('\n') + 1, this.#lines.length);
    const n = place < 0 ? this.length + place : place;
    if (n < 0 || n >= this.length) return undefined;
    if (n < this.#place) [this.#place, this.#start] = [0, 0];
    for (; this.#place < n; this.#place++) this.#start = this.#endOf(this.#start) + 1;
    return this.#read(this.#start, this.#endOf(this.#start));
  }

  *[Symbol.iterator](): ArrayIterator<IndexedDataset> {
    let start = 0;
    for (let n = 0; n < this.length; n++) {
      const end = this.#endOf(start);
      yield this.#read(start, end);
      start = end + 1;
    }
  }

  #endOf(start: number): number {
    const newline = this.#lines.indexOf('\n', start);
    return newline < 0 ? this.#lines.length : newline;
  }

  #read(start: number, end: number): IndexedDataset {
    const lines = this.#lines;
    const fields = new Fields(lines, start, end);
    if (!lines.startsWith(this.#owner, start) || lines.charCodeAt(start + this.#owner.length) !== TAB)
      this.#owner = lines.slice(start, fields.end());
    fields.at = start + this.#owner.length + 1;
    const dataset = fields.next();
    const sync = syncOf(fields.version(), fields.version(), fields.version());
    const { state, type, installTargets, upload, import: imported } = this.#sharedAt(fields.at, end);
    const owner = this.#owner as UserId;
    return { owner, dataset: dataset as DatasetId, state, type, installTargets, upload, import: imported, sync };
  }

  #sharedAt(at: number, end: number): Shared {
    const rest = this.#lines.slice(at, end);
    // Whole strings are compared eight bytes at a time, the start of one is letter by letter.
    if (this.#shared && this.#rest === rest) return this.#shared;
    this.#rest = rest;
    this.#shared = parseShared(rest);
    return this.#shared;
  }
}

/** The fields of one line, one after the other. */
class Fields {
  readonly #lines: string;
  readonly #start: number;
  readonly #end: number;
  /** Where the next one begins. */
  at: number;

  constructor(lines: string, start: number, end: number) {
    this.#lines = lines;
    this.#start = start;
    this.#end = end;
    this.at = start;
  }

  /** Where the tab is that ends the next one. */
  end(): number {
    const tab = this.#lines.indexOf('\t', this.at);
    if (tab >= 0 && tab < this.#end) return tab;
    throw defect(`a dataset's line has too few fields: ${this.#lines.slice(this.#start, this.#end)}`);
  }

  next(): string {
    const end = this.end();
    const field = this.#lines.slice(this.at, end);
    this.at = end + 1;
    return field;
  }

  /** Two fields; undefined where the part was never synced. */
  version(): ObjectVersion | undefined {
    const end = this.end();
    const isNone = end === this.at;
    let modifiedMs = 0;
    for (let at = this.at; at < end; at++) modifiedMs = modifiedMs * 10 + this.#lines.charCodeAt(at) - ZERO;
    this.at = end + 1;
    const etag = this.next();
    return isNone ? undefined : { modified: new Date(modifiedMs), etag: unescaped(etag) };
  }
}

const [TAB, ZERO] = [9, 48];

function syncOf(
  meta: ObjectVersion | undefined,
  data: ObjectVersion | undefined,
  shares: ObjectVersion | undefined,
): IndexedDataset['sync'] {
  if (meta && !data && !shares) return { meta };
  return { ...(meta && { meta }), ...(data && { data }), ...(shares && { shares }) };
}

function parseShared(rest: string): Shared {
  const [state, name, version, upload, imported, ...targets] = rest.split('\t').map(unescaped);
  if (imported === undefined) throw defect(`a dataset's line has too few fields at its end: ${rest}`);
  return {
    state: state as DatasetState,
    type: { name: name as string, version: version as string },
    installTargets: targets as TargetId[],
    upload: upload as UploadStatus,
    import: imported as ImportStatus,
  };
}

const ESCAPES: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', '\\': '\\' };

const unescaped = (field: string): string =>
  field.includes('\\') ? field.replace(/\\(.)/g, (_, letter: string) => ESCAPES[letter] ?? letter) : field;
