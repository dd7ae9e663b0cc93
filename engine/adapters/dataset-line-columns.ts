// The lines of a page of datasets (dataset-line.ts) as places in their bytes: what a run of the reconciler compares of a
// million datasets that are in step. Each byte is looked at once, and nothing is made for a line.

import type { DatasetColumns } from '../ports/dataset-index.ts';

const [TAB, NEWLINE, ZERO, BACKSLASH] = [9, 10, 48, 92];
const PLACES = 8;

/** Undefined unless every line is as expected; whoever reads them one by one says what is wrong. */
export function datasetColumns(lines: string, length: number): DatasetColumns | undefined {
  const bytes = Buffer.from(lines, 'utf8');
  const places = new Int32Array(PLACES * length);
  const [ends, metaMs, dataMs] = [new Int32Array(length), new Float64Array(length), new Float64Array(length)];
  const rest = new Rest();
  let at = 0;
  for (let n = 0; n < length; n++) {
    const ownerEnd = fieldEnd(bytes, at);
    const datasetEnd = fieldEnd(bytes, ownerEnd + 1);
    const metaEnd = fieldEnd(bytes, datasetEnd + 1);
    const metaTagEnd = fieldEnd(bytes, metaEnd + 1);
    const dataEnd = fieldEnd(bytes, metaTagEnd + 1);
    const dataTagEnd = fieldEnd(bytes, dataEnd + 1);
    if (dataTagEnd >= bytes.length) return undefined;
    const place = n * PLACES;
    places[place] = at;
    places[place + 1] = ownerEnd;
    places[place + 2] = datasetEnd;
    places[place + 3] = metaEnd + 1;
    places[place + 4] = metaTagEnd;
    places[place + 5] = dataEnd + 1;
    places[place + 6] = dataTagEnd;
    places[place + 7] = dataTagEnd + 1;
    metaMs[n] = numberOf(bytes, datasetEnd + 1, metaEnd);
    dataMs[n] = numberOf(bytes, metaTagEnd + 1, dataEnd);
    const end = rest.end(bytes, dataTagEnd + 1);
    ends[n] = end;
    at = end + 1;
  }
  return at === bytes.length + 1 ? { bytes, places, ends, metaMs, dataMs } : undefined;
}

/** What a line ends with: as a rule the same as the line before. */
class Rest {
  #from = 0;
  #length = 0;

  end(bytes: Uint8Array, from: number): number {
    if (!this.#isSame(bytes, from)) {
      let to = from;
      while (to < bytes.length && bytes[to] !== NEWLINE) to++;
      this.#length = to - from;
    }
    this.#from = from;
    return from + this.#length;
  }

  #isSame(bytes: Uint8Array, from: number): boolean {
    const end = from + this.#length;
    if (this.#length === 0 || end > bytes.length || (end < bytes.length && bytes[end] !== NEWLINE)) return false;
    for (let n = 0; n < this.#length; n++) if (bytes[from + n] !== bytes[this.#from + n]) return false;
    return true;
  }
}

/**
 * Where the tab is that ends a field; the end of all when there is none, and when the field is escaped, which no id or etag
 * is: no field begins after that.
 */
function fieldEnd(bytes: Uint8Array, from: number): number {
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === TAB) return at;
    if (byte === NEWLINE || byte === BACKSLASH) return bytes.length;
  }
  return bytes.length;
}

/** NaN when it is empty. */
function numberOf(bytes: Uint8Array, from: number, to: number): number {
  if (from === to) return Number.NaN;
  let value = 0;
  for (let at = from; at < to; at++) value = value * 10 + (bytes[at] as number) - ZERO;
  return value;
}
