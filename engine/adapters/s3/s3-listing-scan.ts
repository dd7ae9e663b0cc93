// The objects of a listing page, found by looking only where stores put things: key, time, etag and size of each one in
// this order, one after the other. A full run of the reconciler lists millions of objects, and to search tag by tag, or to
// make texts and dates of what is then only compared, is most of its time. So bytes are looked at, each once, and of each
// object it is kept where things are. Whatever looks otherwise is left to s3-listing.ts, which is slow and takes all that
// stores write.

import type { ObjectColumns, ObjectInfo, ObjectPage } from '../../ports/object-store.ts';
import { firstOfTwo, sameBytes, viewOf } from '../../runtime/same-bytes.ts';
import { PageRoom } from './s3-page-room.ts';

const bytesOf = (text: string): DataView => viewOf(Buffer.from(text));
const ENTRY = bytesOf('<Contents><Key>');
const AFTER_KEY = bytesOf('</Key><LastModified>');
const AFTER_TIME = bytesOf('Z</LastModified><ETag>');
const AFTER_ETAG = bytesOf('</ETag><Size>');
const AFTER_SIZE = bytesOf('</Size>');
const CONTENTS = bytesOf('<Contents>');
const END = '</Contents>';
const [QUOT, NUMBERED, BARE] = [bytesOf('&quot;'), bytesOf('&#34;'), bytesOf('"')];
/** `2026-01-02T03:04:05`: what comes after is no part of a whole second. */
const SECONDS_LENGTH = 19;
/** `2026-01-02T` */
const DAY_LENGTH = 11;
const DAY_MS = 86_400_000;
const NONE = -1;
const TEXTS_ALONE = 16;
const [QUOTE, AMPERSAND, DOT, ZERO, COLON, LESS] = [34, 38, 46, 48, 58, 60];

/** Objects of a page, each made only when it is read. */
export class ScannedObjects implements ObjectPage {
  readonly columns: ObjectColumns;
  readonly #sizes: Float64Array;
  /** Texts made of the bytes so far. */
  #texts = 0;
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
    // The text of the whole page pays only for whoever reads more of it than its first and last objects.
    if (this.#texts++ < TEXTS_ALONE) return bytes.toString('utf8', from, to);
    this.#text ??= bytes.toString('utf8');
    // As many letters as bytes: the places are the same in both.
    return this.#text.length === bytes.length ? this.#text.slice(from, to) : bytes.toString('utf8', from, to);
  }
}

/**
 * Undefined when anything is not as expected.
 * @param xml of a page whose keys are what they look like: nothing in it is percent-encoded, neither is a space `+`
 * @param room for the columns, as long as no other page is scanned into it
 */
export function scanListing(xml: Buffer, room: PageRoom = new PageRoom()): ScannedObjects | undefined {
  const found = new Found(room);
  const bytes = viewOf(xml);
  const days = new Days(xml, bytes);
  const gap = new Gap(xml, bytes);
  for (let at = xml.indexOf('<Contents>'); at !== NONE; at = gap.next(at)) {
    if (!isAt(bytes, at, ENTRY)) return undefined;
    const keyFrom = at + ENTRY.byteLength;
    // An entity is no plain text, and ends it too.
    const keyTo = firstOfTwo(bytes, keyFrom, LESS, AMPERSAND);
    if (!isAt(bytes, keyTo, AFTER_KEY)) return undefined;
    const timeFrom = keyTo + AFTER_KEY.byteLength;
    const modifiedMs = days.timeAt(timeFrom);
    const timeTo = endOfFraction(xml, timeFrom + SECONDS_LENGTH);
    if (Number.isNaN(modifiedMs) || !isAt(bytes, timeTo, AFTER_TIME)) return undefined;
    const quoteFrom = timeTo + AFTER_TIME.byteLength;
    const quote = quoteAt(bytes, quoteFrom);
    if (!quote) return undefined;
    const etagFrom = quoteFrom + quote.byteLength;
    // Its own quotes are the only entities in it.
    const etagTo = quote === BARE ? endOfBare(xml, etagFrom) : firstOfTwo(bytes, etagFrom, LESS, AMPERSAND);
    const tag = etagTo + quote.byteLength;
    if (!isAt(bytes, etagTo, quote) || !isAt(bytes, tag, AFTER_ETAG)) return undefined;
    const sizeFrom = tag + AFTER_ETAG.byteLength;
    const sizeTo = endOfDigits(xml, sizeFrom);
    if (sizeTo === sizeFrom || sizeTo - sizeFrom > 15 || !isAt(bytes, sizeTo, AFTER_SIZE)) return undefined;
    found.add(keyFrom, keyTo, etagFrom, etagTo, modifiedMs, numberAt(xml, sizeFrom, sizeTo));
    at = sizeTo + AFTER_SIZE.byteLength;
    if (!gap.endsEntry(at)) return undefined;
  }
  return found.page(xml);
}

class Found {
  readonly #room: PageRoom;
  #length = 0;

  constructor(room: PageRoom) {
    this.#room = room;
  }

  add(keyFrom: number, keyTo: number, etagFrom: number, etagTo: number, modifiedMs: number, size: number): void {
    const room = this.#room;
    if (this.#length === room.sizes.length) room.grow();
    const at = this.#length * 4;
    room.places[at] = keyFrom;
    room.places[at + 1] = keyTo;
    room.places[at + 2] = etagFrom;
    room.places[at + 3] = etagTo;
    room.modifiedMs[this.#length] = modifiedMs;
    room.sizes[this.#length++] = size;
  }

  page(bytes: Buffer): ScannedObjects {
    const { places, modifiedMs, sizes } = this.#room;
    return new ScannedObjects({ bytes, length: this.#length, places, modifiedMs }, sizes);
  }
}

/** From an object's size to where the next one begins: as a rule the same bytes after each. */
class Gap {
  readonly #xml: Buffer;
  readonly #bytes: DataView;
  /** Where the usual one lies. */
  #from = 0;
  #length = 0;

  constructor(xml: Buffer, bytes: DataView) {
    this.#xml = xml;
    this.#bytes = bytes;
  }

  /** Whether the entry whose size ends at `at` has an end. */
  endsEntry(at: number): boolean {
    if (this.#length > 0 && sameBytes(this.#bytes, at, this.#bytes, this.#from, this.#length)) return true;
    const end = this.#xml.indexOf(END, at);
    this.#from = at;
    this.#length = end - at + END.length;
    return end !== NONE;
  }

  /** The entry after that of which {@link endsEntry} told with the same place; NONE when there is none. */
  next(at: number): number {
    const end = at + this.#length;
    return isAt(this.#bytes, end, CONTENTS) ? end : this.#xml.indexOf('<Contents>', end);
  }
}

const isAt = (xml: DataView, at: number, what: DataView): boolean => sameBytes(xml, at, what, 0, what.byteLength);

/** How the etag that begins here is quoted. */
function quoteAt(xml: DataView, at: number): DataView | undefined {
  if (isAt(xml, at, QUOT)) return QUOT;
  if (isAt(xml, at, BARE)) return BARE;
  return isAt(xml, at, NUMBERED) ? NUMBERED : undefined;
}

function endOfBare(xml: Uint8Array, from: number): number {
  let at = from;
  for (let byte = xml[at]; byte !== undefined && byte !== QUOTE && byte !== LESS && byte !== AMPERSAND; byte = xml[at])
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
  readonly #xml: Buffer;
  readonly #bytes: DataView;
  /** Where the day lies that was read last. */
  #day = NONE;
  #dayMs = Number.NaN;

  constructor(xml: Buffer, bytes: DataView) {
    this.#xml = xml;
    this.#bytes = bytes;
  }

  /** Ms since 1970 of `YYYY-MM-DDThh:mm:ss`; NaN for any other text. */
  timeAt(at: number): number {
    const xml = this.#xml;
    if (this.#day === NONE || !sameBytes(this.#bytes, at, this.#bytes, this.#day, DAY_LENGTH)) {
      this.#day = at;
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
