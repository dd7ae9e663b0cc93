// The objects of a listing page, found by looking only where stores put things: key, time, etag and size of each one in
// this order, one after the other. A full run of the reconciler lists millions of objects, and to search tag by tag is
// then most of its time. Whatever looks otherwise is left to s3-listing.ts, which is slow and takes all that stores write.

import type { ObjectInfo } from '../ports/object-store.ts';

const ENTRY = '<Contents><Key>';
const AFTER_KEY = '</Key><LastModified>';
const AFTER_TIME = 'Z</LastModified><ETag>';
const AFTER_ETAG = '</ETag><Size>';
const AFTER_SIZE = '</Size>';
const END = '</Contents>';
/** `2026-01-02T03:04:05`: what comes after is no part of a whole second. */
const SECONDS_LENGTH = 19;
const DAY_MS = 86_400_000;
const [NONE, AMPERSAND, DOT, COLON] = [-1, 38, 46, 58];

/**
 * Undefined when anything is not as expected.
 * @param xml of a page whose keys are what they look like: nothing in it is percent-encoded, neither is a space `+`
 */
export function scanListing(xml: string): readonly ObjectInfo[] | undefined {
  const objects: ObjectInfo[] = [];
  const days = new Days();
  for (let at = xml.indexOf('<Contents>'); at !== NONE; at = nextEntry(xml, at)) {
    const keyFrom = at + ENTRY.length;
    const keyTo = xml.indexOf('<', keyFrom);
    if (!xml.startsWith(ENTRY, at) || !xml.startsWith(AFTER_KEY, keyTo)) return undefined;
    const timeFrom = keyTo + AFTER_KEY.length;
    const modifiedMs = days.timeAt(xml, timeFrom);
    const timeTo = endOfFraction(xml, timeFrom + SECONDS_LENGTH);
    if (Number.isNaN(modifiedMs) || !xml.startsWith(AFTER_TIME, timeTo)) return undefined;
    const quoteFrom = timeTo + AFTER_TIME.length;
    const quote = quoteAt(xml, quoteFrom);
    const etagTo = xml.indexOf(quote, quoteFrom + quote.length);
    const tag = etagTo + quote.length;
    const sizeFrom = tag + AFTER_ETAG.length;
    const size = numberAt(xml, sizeFrom);
    if (quote === '' || size === NONE || !xml.startsWith(AFTER_ETAG, tag)) return undefined;
    const key = xml.slice(keyFrom, keyTo);
    const etag = xml.slice(quoteFrom + quote.length, etagTo);
    // An entity in the key; in the etag its quotes were the only ones.
    if (key.includes('&') || etag.includes('&')) return undefined;
    objects.push({ key, size, etag, modified: new Date(modifiedMs) });
    at = xml.indexOf(END, sizeFrom);
    if (at === NONE) return undefined;
  }
  return objects;
}

/** As a rule right after the end of the one before, which is at `end`. */
function nextEntry(xml: string, end: number): number {
  const next = end + END.length;
  return xml.startsWith('<Contents>', next) ? next : xml.indexOf('<Contents>', next);
}

/** How the etag that begins here is quoted; empty when it is not. */
function quoteAt(xml: string, at: number): string {
  if (xml.charCodeAt(at) !== AMPERSAND) return xml.startsWith('"', at) ? '"' : '';
  if (xml.startsWith('&quot;', at)) return '&quot;';
  return xml.startsWith('&#34;', at) ? '&#34;' : '';
}

/** Where the digits end that follow a dot; `from` when there are none. */
function endOfFraction(xml: string, from: number): number {
  if (xml.charCodeAt(from) !== DOT) return from;
  let at = from + 1;
  while (digitAt(xml, at) >= 0) at++;
  return at === from + 1 ? from : at;
}

/** The number up to the end of its tag, of at most 15 digits; NONE when there is none. */
function numberAt(xml: string, from: number): number {
  let value = 0;
  let at = from;
  for (let digit = digitAt(xml, at); digit >= 0; digit = digitAt(xml, ++at)) value = value * 10 + digit;
  const digits = at - from;
  return digits > 0 && digits <= 15 && xml.startsWith(AFTER_SIZE, at) ? value : NONE;
}

/** Reads times of one form; most of a page's days are the same. */
class Days {
  #day = '';
  #dayMs = Number.NaN;

  /** Ms since 1970 of `YYYY-MM-DDThh:mm:ss`; NaN for any other text. */
  timeAt(xml: string, at: number): number {
    if (this.#day === '' || !xml.startsWith(this.#day, at)) {
      this.#day = xml.slice(at, at + 11);
      this.#dayMs = /^\d{4}-\d\d-\d\dT$/.test(this.#day) ? Date.parse(`${this.#day}00:00:00Z`) : Number.NaN;
    }
    if (xml.charCodeAt(at + 13) !== COLON || xml.charCodeAt(at + 16) !== COLON) return Number.NaN;
    const [hours, minutes, seconds] = [pairAt(xml, at + 11), pairAt(xml, at + 14), pairAt(xml, at + 17)];
    const ms = ((hours * 60 + minutes) * 60 + seconds) * 1_000;
    return minutes < 60 && seconds < 60 && ms < DAY_MS ? this.#dayMs + ms : Number.NaN;
  }
}

/** NaN unless both are digits. */
function pairAt(xml: string, at: number): number {
  const [ten, one] = [digitAt(xml, at), digitAt(xml, at + 1)];
  return ten < 0 || one < 0 ? Number.NaN : ten * 10 + one;
}

/** Negative when it is none. */
function digitAt(xml: string, at: number): number {
  const digit = xml.charCodeAt(at) - 48;
  return digit >= 0 && digit <= 9 ? digit : NONE;
}
