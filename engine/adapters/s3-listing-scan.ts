// The objects of a listing page, found by looking only where stores put things: key, time, etag and size of each one in
// this order, one after the other. A full run of the reconciler lists millions of objects, and to search tag by tag, or to
// make texts and dates of what is then only compared, is most of its time. So bytes are looked at, each once, and of each
// object it is kept where things are. Whatever looks otherwise is left to s3-listing.ts, which is slow and takes all that
// stores write.

import type { ObjectColumns, ObjectInfo, ObjectPage } from '../ports/object-store.ts';

const ENTRY = Buffer.from('<Contents><Key>');
const AFTER_KEY = Buffer.from('</Key><LastModified>');
const AFTER_TIME = Buffer.from('Z</LastModified><ETag>');
const AFTER_ETAG = Buffer.from('</ETag><Size>');
const AFTER_SIZE = Buffer.from('</Size>');
const CONTENTS = Buffer.from('<Contents>');
const END = Buffer.from('</Contents>');
const [QUOT, NUMBERED, BARE] = [Buffer.from('&quot;'), Buffer.from('&#34;'), Buffer.from('"')];
/** `2026-01-02T03:04:05`: what comes after is no part of a whole second. */
const SECONDS_LENGTH = 19;
/** `2026-01-02T` */
const DAY_LENGTH = 11;
const DAY_MS = 86_400_000;
const NONE = -1;
const [AMPERSAND, DOT, ZERO, COLON, LESS] = [38, 46, 48, 58, 60];
/** Of a page, to begin with. */
const OBJECTS = 1_000;

/** Objects of a page, each made only when it is read. */
export class ScannedObjects implements ObjectPage {
  readonly columns: ObjectColumns;
  readonly #sizes: Float64Array;
  #text: string | undefined;

  constructor(columns: ObjectColumns, sizes: Float64Array) {
    this.columns = columns;
    this.#sizes = sizes;
  }

  get length(): number {
    return this.columns.length;
  }

  at(place: number): ObjectInfo | undefined {
    const n = place < 0 ? this.length + place : place;
    return n >= 0 && n < this.length ? this.#read(n) : undefined;
  }

  *[Symbol.iterator](): ArrayIterator<ObjectInfo> {
    for (let n = 0; n < this.length; n++) yield this.#read(n);
  }

  #read(n: number): ObjectInfo {
    const { places, modifiedMs } = this.columns;
    const at = n * 4;
    return {
      key: this.#slice(places[at] as number, places[at + 1] as number),
      size: this.#sizes[n] as number,
      etag: this.#slice(places[at + 2] as number, places[at + 3] as number),
      modified: new Date(modifiedMs[n] as number),
    };
  }

  #slice(from: number, to: number): string {
    const bytes = this.columns.bytes as Buffer;
    this.#text ??= bytes.toString('utf8');
    // As many letters as bytes: the places are the same in both.
    return this.#text.length === bytes.length ? this.#text.slice(from, to) : bytes.toString('utf8', from, to);
  }
}

/**
 * Undefined when anything is not as expected.
 * @param xml of a page whose keys are what they look like: nothing in it is percent-encoded, neither is a space `+`
 */
export function scanListing(xml: Buffer): ScannedObjects | undefined {
  const found = new Found();
  const days = new Days();
  const gap = new Gap();
  for (let at = xml.indexOf(CONTENTS); at !== NONE; at = gap.next(xml, at)) {
    if (!isAt(xml, at, ENTRY)) return undefined;
    const keyFrom = at + ENTRY.length;
    const keyTo = plainEnd(xml, keyFrom);
    if (!isAt(xml, keyTo, AFTER_KEY)) return undefined;
    const timeFrom = keyTo + AFTER_KEY.length;
    const modifiedMs = days.timeAt(xml, timeFrom);
    const timeTo = endOfFraction(xml, timeFrom + SECONDS_LENGTH);
    if (Number.isNaN(modifiedMs) || !isAt(xml, timeTo, AFTER_TIME)) return undefined;
    const quoteFrom = timeTo + AFTER_TIME.length;
    const quote = quoteAt(xml, quoteFrom);
    if (!quote) return undefined;
    const etagFrom = quoteFrom + quote.length;
    // Its own quotes are the only entities in it.
    const etagTo = endBefore(xml, etagFrom, quote[0] as number);
    const tag = etagTo + quote.length;
    if (!isAt(xml, etagTo, quote) || !isAt(xml, tag, AFTER_ETAG)) return undefined;
    const sizeFrom = tag + AFTER_ETAG.length;
    const sizeTo = endOfDigits(xml, sizeFrom);
    if (sizeTo === sizeFrom || sizeTo - sizeFrom > 15 || !isAt(xml, sizeTo, AFTER_SIZE)) return undefined;
    found.add(keyFrom, keyTo, etagFrom, etagTo, modifiedMs, numberAt(xml, sizeFrom, sizeTo));
    at = sizeTo + AFTER_SIZE.length;
    if (!gap.endsEntry(xml, at)) return undefined;
  }
  return found.page(xml);
}

class Found {
  #length = 0;
  #places = new Int32Array(4 * OBJECTS);
  #modifiedMs = new Float64Array(OBJECTS);
  #sizes = new Float64Array(OBJECTS);

  add(keyFrom: number, keyTo: number, etagFrom: number, etagTo: number, modifiedMs: number, size: number): void {
    if (this.#length === this.#sizes.length) this.#grow();
    const at = this.#length * 4;
    this.#places[at] = keyFrom;
    this.#places[at + 1] = keyTo;
    this.#places[at + 2] = etagFrom;
    this.#places[at + 3] = etagTo;
    this.#modifiedMs[this.#length] = modifiedMs;
    this.#sizes[this.#length++] = size;
  }

  page(bytes: Buffer): ScannedObjects {
    const [length, places, modifiedMs] = [this.#length, this.#places, this.#modifiedMs];
    return new ScannedObjects({ bytes, length, places, modifiedMs }, this.#sizes);
  }

  #grow(): void {
    const [places, modifiedMs, sizes] = [this.#places, this.#modifiedMs, this.#sizes];
    this.#places = new Int32Array(2 * places.length);
    this.#places.set(places);
    this.#modifiedMs = new Float64Array(2 * modifiedMs.length);
    this.#modifiedMs.set(modifiedMs);
    this.#sizes = new Float64Array(2 * sizes.length);
    this.#sizes.set(sizes);
  }
}

/** From an object's size to where the next one begins: as a rule the same bytes after each. */
class Gap {
  #usual: Uint8Array = new Uint8Array();
  #from = 0;

  /** Whether the entry whose size ends at `from` has an end. */
  endsEntry(xml: Buffer, from: number): boolean {
    this.#from = from;
    return this.#isUsual(xml) || xml.indexOf(END, from) !== NONE;
  }

  /** The next entry; NONE when there is none. */
  next(xml: Buffer, from: number): number {
    if (!this.#isUsual(xml)) this.#usual = xml.subarray(from, xml.indexOf(END, from) + END.length);
    const end = from + this.#usual.length;
    return isAt(xml, end, CONTENTS) ? end : xml.indexOf(CONTENTS, end);
  }

  #isUsual(xml: Buffer): boolean {
    return this.#usual.length > 0 && isAt(xml, this.#from, this.#usual);
  }
}

function isAt(xml: Uint8Array, at: number, what: Uint8Array): boolean {
  for (let n = 0; n < what.length; n++) if (xml[at + n] !== what[n]) return false;
  return true;
}

/** How the etag that begins here is quoted. */
function quoteAt(xml: Uint8Array, at: number): Uint8Array | undefined {
  if (isAt(xml, at, QUOT)) return QUOT;
  if (isAt(xml, at, BARE)) return BARE;
  return isAt(xml, at, NUMBERED) ? NUMBERED : undefined;
}

/** Where the tag begins that ends a text; an entity is no plain text, and ends it too. */
function plainEnd(xml: Uint8Array, from: number): number {
  let at = from;
  for (let byte = xml[at]; byte !== undefined && byte !== LESS && byte !== AMPERSAND; byte = xml[at]) at++;
  return at;
}

/** As {@link plainEnd}, of what is quoted. */
function endBefore(xml: Uint8Array, from: number, quote: number): number {
  let at = from;
  for (let byte = xml[at]; byte !== undefined && byte !== quote && byte !== LESS && byte !== AMPERSAND; byte = xml[at])
    at++;
  return at;
}

function endOfDigits(xml: Uint8Array, from: number): number {
  let at = from;
  while (digitAt(xml, at) >= 0) at++;
  return at;
}

/** Where the digits end that follow a dot; `from` when there are none. */
function endOfFraction(xml: Uint8Array, from: number): number {
  if (xml[from] !== DOT) return from;
  const end = endOfDigits(xml, from + 1);
  return end === from + 1 ? from : end;
}

function numberAt(xml: Uint8Array, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at++) value = value * 10 + digitAt(xml, at);
  return value;
}

/** Reads times of one form; most of a page's days are the same. */
class Days {
  #day: Uint8Array = new Uint8Array();
  #dayMs = Number.NaN;

  /** Ms since 1970 of `YYYY-MM-DDThh:mm:ss`; NaN for any other text. */
  timeAt(xml: Buffer, at: number): number {
    if (this.#day.length === 0 || !isAt(xml, at, this.#day)) {
      this.#day = xml.subarray(at, at + DAY_LENGTH);
      const day = xml.toString('latin1', at, at + DAY_LENGTH);
      this.#dayMs = /^\d{4}-\d\d-\d\dT$/.test(day) ? Date.parse(`${day}00:00:00Z`) : Number.NaN;
    }
    if (xml[at + 13] !== COLON || xml[at + 16] !== COLON) return Number.NaN;
    const [hours, minutes, seconds] = [pairAt(xml, at + 11), pairAt(xml, at + 14), pairAt(xml, at + 17)];
    const ms = ((hours * 60 + minutes) * 60 + seconds) * 1_000;
    return minutes < 60 && seconds < 60 && ms < DAY_MS ? this.#dayMs + ms : Number.NaN;
  }
}

/** NaN unless both are digits. */
function pairAt(xml: Uint8Array, at: number): number {
  const [ten, one] = [digitAt(xml, at), digitAt(xml, at + 1)];
  return ten < 0 || one < 0 ? Number.NaN : ten * 10 + one;
}

/** Negative when it is none. */
function digitAt(xml: Uint8Array, at: number): number {
  const digit = (xml[at] ?? 0) - ZERO;
  return digit >= 0 && digit <= 9 ? digit : NONE;
}
