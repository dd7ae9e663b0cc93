// The lines of a page of datasets (dataset-line.ts) as places in their bytes: what a run of the reconciler compares of a
// million datasets that are in step. Nothing is made for a line.

import type { DatasetColumns } from '../../ports/dataset-index.ts';
import { firstBelow, sameBytes, viewOf } from '../../runtime/same-bytes.ts';

const [TAB, NEWLINE, SPACE, ZERO, BACKSLASH] = [9, 10, 32, 48, 92];
const PLACES = 8;
const NONE = -1;

/**
 * Undefined unless every line is as expected; whoever reads them one by one says what is wrong.
 * @param spare columns of another page, whose memory is used where it is long enough
 */
export function datasetColumns(lines: string, length: number, spare?: DatasetColumns): DatasetColumns | undefined {
  const room = spare && hasRoom(spare, lines, length) ? spare : roomFor(lines, length);
  const all = room.bytes as Buffer;
  const bytes = all.subarray(0, all.write(lines, 'utf8'));
  const view = viewOf(bytes);
  const { places, ends, metaMs, dataMs } = room;
  const rest = new Rest();
  // No id or etag is escaped.
  let backslash = bytes.indexOf(BACKSLASH);
  let at = 0;
  for (let n = 0; n < length; n++) {
    const ownerEnd = fieldEnd(view, at);
    const datasetEnd = fieldEnd(view, ownerEnd + 1);
    const metaEnd = fieldEnd(view, datasetEnd + 1);
    const metaTagEnd = fieldEnd(view, metaEnd + 1);
    const dataEnd = fieldEnd(view, metaTagEnd + 1);
    const dataTagEnd = fieldEnd(view, dataEnd + 1);
    if (dataTagEnd >= bytes.length || (backslash !== NONE && backslash < dataTagEnd)) return undefined;
    const place = n * PLACES;
    places[place] = at;
    places[place + 1] = ownerEnd;
    places[place + 2] = datasetEnd;
    places[place + 3] = metaEnd + 1;
    places[place + 4] = metaTagEnd;
    places[place + 5] = dataEnd + 1;
    places[place + 6] = dataTagEnd;
    places[place + 7] = dataTagEnd + 1;
    metaMs[n] = numberOf(view, datasetEnd + 1, metaEnd);
    dataMs[n] = numberOf(view, metaTagEnd + 1, dataEnd);
    const end = rest.end(bytes, view, dataTagEnd + 1);
    ends[n] = end;
    if (backslash !== NONE && backslash < end) backslash = bytes.indexOf(BACKSLASH, end);
    at = end + 1;
  }
  return at === bytes.length + 1 ? room : undefined;
}

/** Most bytes that a letter of a string has in UTF-8. */
const LETTER_BYTES = 3;

const hasRoom = ({ bytes, ends }: DatasetColumns, lines: string, length: number): boolean =>
  bytes.length >= LETTER_BYTES * lines.length && ends.length >= length;

const roomFor = (lines: string, length: number): DatasetColumns => ({
  bytes: Buffer.allocUnsafeSlow(LETTER_BYTES * lines.length),
  ...{ places: new Int32Array(PLACES * length), ends: new Int32Array(length) },
  ...{ metaMs: new Float64Array(length), dataMs: new Float64Array(length) },
});

/** What a line ends with: as a rule the same as the line before. */
class Rest {
  #from = 0;
  #length = 0;

  end(bytes: Buffer, view: DataView, from: number): number {
    if (!this.#isSame(view, from)) {
      const newline = bytes.indexOf(NEWLINE, from);
      this.#length = (newline < 0 ? bytes.length : newline) - from;
    }
    this.#from = from;
    return from + this.#length;
  }

  #isSame(view: DataView, from: number): boolean {
    const end = from + this.#length;
    if (this.#length === 0 || (end < view.byteLength && view.getUint8(end) !== NEWLINE)) return false;
    return sameBytes(view, from, view, this.#from, this.#length);
  }
}

/** Where the tab is that ends a field; the end of all when there is none. Ids, times and etags have no other such letter. */
function fieldEnd(view: DataView, from: number): number {
  const end = firstBelow(view, from, SPACE);
  return end < view.byteLength && view.getUint8(end) === TAB ? end : view.byteLength;
}

/** NaN when it is empty. */
function numberOf(view: DataView, from: number, to: number): number {
  if (from === to) return Number.NaN;
  let value = 0;
  for (let at = from; at < to; at++) value = value * 10 + view.getUint8(at) - ZERO;
  return value;
}
