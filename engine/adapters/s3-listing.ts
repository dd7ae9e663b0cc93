// One page of a listing (ListObjectsV2). Pages follow each other by the last key and not by the store's tokens, which may
// expire. Keys come percent-encoded, so that any byte survives XML. The text is scanned (s3-listing-scan.ts) and, where it
// is not what stores usually write, searched tag by tag.

import { transient } from '../failure.ts';
import type { ObjectInfo } from '../ports/object-store.ts';
import { scanListing } from './s3-listing-scan.ts';

export interface ListingPage {
  readonly objects: readonly ObjectInfo[];
  /** Where the next page starts; undefined for the last one. */
  readonly next: ListingPlace | undefined;
}

/** A key as it goes into a query, which tells apart even what no text can. */
export type ListingPlace = string & { readonly listingPlace: unique symbol };

const PAGE_KEYS = 1_000;

export const placeOf = (key: string): ListingPlace => encodeBytes(Buffer.from(key)) as ListingPlace;

export function listingQuery(prefix: string, after: ListingPlace | undefined, keys = PAGE_KEYS): string {
  const start = after === undefined ? '' : `&start-after=${after}`;
  return `encoding-type=url&list-type=2&max-keys=${keys}&prefix=${encodeBytes(Buffer.from(prefix))}${start}`;
}

/** @param what names the listing in a failure, which an answer that is no listing ends in */
export function parseListing(xml: string, what: string): ListingPage {
  if (!xml.includes('<ListBucketResult') || !xml.includes('</ListBucketResult>'))
    throw transient(`${what}: the answer is no listing; check server`);
  const isEncoded = fieldOf(xml, 'EncodingType', 0, xml.length) === 'url';
  const isPlain = !isEncoded || !(xml.includes('%') || xml.includes('+'));
  const scanned = isPlain ? scanListing(xml) : undefined;
  const { objects, lastKey } = scanned
    ? { objects: scanned, lastKey: scanned.at(-1)?.key ?? '' }
    : searchListing(xml, isEncoded, what);
  if (fieldOf(xml, 'IsTruncated', 0, xml.length) !== 'true') return { objects, next: undefined };
  if (objects.length === 0) throw transient(`${what}: an empty page that is not the last`);
  const bytes = isEncoded ? bytesOf(lastKey) : Buffer.from(lastKey);
  return { objects, next: encodeBytes(bytes) as ListingPlace };
}

/** The objects of any page, found tag by tag. `lastKey` as the page has it. */
export function searchListing(
  xml: string,
  isEncoded: boolean,
  what: string,
): { readonly objects: readonly ObjectInfo[]; readonly lastKey: string } {
  const objects: ObjectInfo[] = [];
  let lastKey = '';
  for (let at = xml.indexOf('<Contents>'); at >= 0; ) {
    const end = xml.indexOf('</Contents>', at);
    const field = (name: string): string => {
      const value = fieldOf(xml, name, at, end);
      if (value === undefined) throw transient(`${what}: an object without ${name}`);
      return value;
    };
    // Stores leave some letters unencoded, which XML writes as entities all the same.
    lastKey = withoutEntities(field('Key'));
    objects.push({
      key: isEncoded ? decoded(lastKey) : lastKey,
      size: Number(field('Size')),
      etag: plainTag(withoutEntities(field('ETag'))),
      modified: wholeSeconds(field('LastModified')),
    });
    at = xml.indexOf('<Contents>', end);
  }
  return { objects, lastKey };
}

/** An etag without its quotes, and without what a proxy that compresses puts before it. */
export const plainTag = (etag: string): string => etag.replace(/^(?:W\/)?"?|"$/g, '');

/** Heads of objects have whole seconds; listings of some stores have more. */
export const wholeSeconds = (date: string): Date => new Date(Math.floor(Date.parse(date) / 1000) * 1000);

function fieldOf(xml: string, name: string, from: number, to: number): string | undefined {
  const start = xml.indexOf(`<${name}>`, from);
  if (start < 0 || start >= to) return undefined;
  const begin = start + name.length + 2;
  return xml.slice(begin, xml.indexOf(`</${name}>`, begin));
}

function decoded(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch {
    // No UTF-8, so none of ours; it is shown somehow.
    return bytesOf(key).toString('utf8');
  }
}

/** Some stores write a space as `+`. */
function bytesOf(encoded: string): Buffer {
  const text = encoded.replaceAll('+', ' ');
  const bytes = Buffer.alloc(Buffer.byteLength(text));
  let length = 0;
  for (let at = 0; at < text.length; ) {
    const hex = text[at] === '%' ? Number.parseInt(text.slice(at + 1, at + 3), 16) : Number.NaN;
    if (Number.isNaN(hex)) {
      const letter = String.fromCodePoint(text.codePointAt(at) as number);
      length += bytes.write(letter, length);
      at += letter.length;
    } else {
      bytes[length++] = hex;
      at += 3;
    }
  }
  return bytes.subarray(0, length);
}

/** As the signature wants it: everything but letters, digits and `-._~`. */
function encodeBytes(bytes: Buffer): string {
  let text = '';
  for (const byte of bytes) {
    const letter = String.fromCharCode(byte);
    text += /[\w.~-]/.test(letter) ? letter : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return text;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function withoutEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi, (whole, hex?: string, decimal?: string, name?: string) => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    return ENTITIES[name ?? ''] ?? whole;
  });
}
