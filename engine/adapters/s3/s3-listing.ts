// One page of a listing (ListObjectsV2). Pages follow each other by the last key and not by the store's tokens, which may
// expire. Keys come percent-encoded, so that any byte survives XML. The bytes are scanned (s3-listing-scan.ts) and, where
// they are not what stores usually write, searched tag by tag.

import type { ObjectInfo, ObjectPage } from '../../ports/object-store.ts';
import { transient } from '../../runtime/failure.ts';
import { scanListing } from './s3-listing-scan.ts';
import type { PageRoom } from './s3-page-room.ts';

/** An answer of which only its end was looked at, so that the next one can be asked for before this one is read. */
export interface ListingAnswer {
  readonly xml: Buffer;
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
export function listingAnswer(xml: Buffer, what: string): ListingAnswer {
  if (!xml.includes('<ListBucketResult') || xml.lastIndexOf('</ListBucketResult>') < 0)
    throw transient(`${what}: the answer is no listing; check server`);
  if (wordIn(xml, 'IsTruncated') !== 'true') return { xml, next: undefined };
  const from = xml.lastIndexOf('<Key>') + '<Key>'.length;
  const to = xml.indexOf('</Key>', from);
  if (from < '<Key>'.length || to < 0) throw transient(`${what}: an empty page that is not the last`);
  const lastKey = withoutEntities(xml.toString('utf8', from, to));
  return { xml, next: encodeBytes(isEncoded(xml) ? bytesOf(lastKey) : Buffer.from(lastKey)) as ListingPlace };
}

/** @param room as {@link scanListing} uses it */
export function parseListing(xml: Buffer, what: string, room?: PageRoom): ObjectPage {
  const encoded = isEncoded(xml);
  const isPlain = !encoded || !(xml.includes(PERCENT) || xml.includes(PLUS));
  return (isPlain ? scanListing(xml, room) : undefined) ?? searchListing(xml.toString('utf8'), encoded, what);
}

const [PERCENT, PLUS] = [37, 43];

const isEncoded = (xml: Buffer): boolean => wordIn(xml, 'EncodingType') === 'url';

/** What the first tag of this name holds, of a page or, where it has none, of an object. */
function wordIn(xml: Buffer, name: string): string | undefined {
  const start = xml.indexOf(`<${name}>`);
  if (start < 0) return undefined;
  const begin = start + name.length + 2;
  return xml.toString('utf8', begin, xml.indexOf(`</${name}>`, begin));
}

/** The objects of any page, found tag by tag. `lastKey` as the page has it. */
export function searchListing(xml: string, isEncoded: boolean, what: string): readonly ObjectInfo[] {
  const objects: ObjectInfo[] = [];
  for (let at = xml.indexOf('<Contents>'); at >= 0; ) {
    const end = xml.indexOf('</Contents>', at);
    const field = (name: string): string => {
      const value = fieldOf(xml, name, at, end);
      if (value === undefined) throw transient(`${what}: an object without ${name}`);
      return value;
    };
    // Stores leave some letters unencoded, which XML writes as entities all the same.
    const key = withoutEntities(field('Key'));
    objects.push({
      key: isEncoded ? decoded(key) : key,
      size: Number(field('Size')),
      etag: plainTag(withoutEntities(field('ETag'))),
      modified: wholeSeconds(field('LastModified')),
    });
    at = xml.indexOf('<Contents>', end);
  }
  return objects;
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
