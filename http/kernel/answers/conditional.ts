// Conditional and range requests (RFC 9110, 13 and 14). We compare tags without their `W/`. A proxy that compresses our
// responses marks the tag as weak, and the client sends it back in that form.

import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { ByteRange } from '../../../engine/ports/object-store.ts';
import { preconditionFailed } from '../pipeline/errors.ts';

export interface Validators {
  /** With its quotes. */
  readonly etag: string;
  readonly modified?: Date;
}

/** Computes a tag for content that has no version. */
export const tagOf = (content: string | Uint8Array): string => `"${hash('sha256', content, 'base64url').slice(0, 27)}"`;

/** True when the client already has this content, so that the response is 304. For GET and HEAD. */
export function isKnown(headers: IncomingHttpHeaders, { etag, modified }: Validators): boolean {
  const tags = headers['if-none-match'];
  if (tags !== undefined) return lists(tags, etag);
  const since = Date.parse(headers['if-modified-since'] ?? '');
  return modified !== undefined && inSeconds(modified) <= since;
}

/** Throws 412 when the client requires another version: by `If-Match` or, for a download, by `If-Unmodified-Since`. */
export function requireMatch(headers: IncomingHttpHeaders, { etag, modified }: Validators): void {
  const tags = headers['if-match'];
  if (tags !== undefined) {
    if (!lists(tags, etag)) throw preconditionFailed(`If-Match ${tags}: the current version is ${etag}`);
    return;
  }
  const since = Date.parse(headers['if-unmodified-since'] ?? '');
  if (modified !== undefined && inSeconds(modified) > since)
    throw preconditionFailed(`If-Unmodified-Since: it was modified on ${modified.toUTCString()}`);
}

/** True when a range may be sent: there is no `If-Range`, or it names exactly this version. */
export function isSameForRange(headers: IncomingHttpHeaders, { etag, modified }: Validators): boolean {
  const wanted = headers['if-range'];
  return wanted === undefined || wanted === etag || (modified !== undefined && wanted === modified.toUTCString());
}

const lists = (tags: string, etag: string): boolean =>
  tags.trim() === '*' || tags.split(',').some((tag) => plain(tag) === plain(etag));

const plain = (tag: string): string => tag.trim().replace(/^W\//, '');

/** Rounds down to seconds, because HTTP dates have no fractions. */
const inSeconds = (date: Date): number => Math.floor(date.getTime() / 1000) * 1000;

export type RangeAnswer =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly range: Required<ByteRange> }
  | { readonly kind: 'unsatisfiable' };

/** Parses one byte range. For several ranges, other units and malformed headers, the whole content is sent. */
export function parseRange(header: string | undefined, size: number): RangeAnswer {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? '');
  const [, first = '', last = ''] = match ?? [];
  if (!match || (first === '' && last === '')) return { kind: 'whole' };
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? { kind: 'unsatisfiable' } : { kind: 'part', range: { from: size - length, to: size - 1 } };
  }
  const from = Number(first);
  const to = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && Number(last) < from) return { kind: 'whole' };
  return from >= size ? { kind: 'unsatisfiable' } : { kind: 'part', range: { from, to } };
}
