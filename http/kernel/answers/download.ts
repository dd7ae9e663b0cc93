// Sends an object of the store, with its length, validators and a safe file name. Supports HEAD and single ranges.

import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { create as contentDisposition } from 'content-disposition';
import { sha256Field } from '../../../engine/model/digest.ts';
import type { ObjectDigest } from '../../../engine/ports/catalog.ts';
import type { ByteRange, ObjectInfo, ObjectStore, OpenObject } from '../../../engine/ports/object-store.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import type { RequestContext } from '../pipeline/context.ts';
import { HttpError, notFound, preconditionFailed } from '../pipeline/errors.ts';
import { sendBody } from './sending.ts';

export interface DownloadOptions {
  readonly key: string;
  readonly contentType: string;
  readonly fileName: string;
  /** The `Content-Disposition`: true (default) is `attachment`, false is `inline`, and `unsaid` sends no such header. */
  readonly attachment?: boolean | 'unsaid';
  /** The message of a 404. */
  readonly absent: string;
  /** What is known of the content. It is sent if it is of the version that is stored. Absent = nothing. */
  readonly digest?: () => Promise<ObjectDigest | undefined>;
}

type Source = Pick<ObjectStore, 'get' | 'head'>;

export async function sendObject(context: RequestContext, store: Source, options: DownloadOptions): Promise<void> {
  const { request, response, signal } = context;
  const info = await store.head(options.key, signal);
  if (!info) throw notFound(options.absent);
  const validators = { etag: `"${info.etag}"`, modified: info.modified };
  requireMatch(request.headers, validators);
  response.setHeader('etag', validators.etag);
  response.setHeader('last-modified', info.modified.toUTCString());
  response.setHeader('accept-ranges', 'bytes');
  response.setHeader('cache-control', 'private, no-cache');
  if (isKnown(request.headers, validators)) return context.empty(304);
  const digest = await options.digest?.();
  // Of the whole content, also when only a range is sent (RFC 9530, 3).
  if (digest?.etag === info.etag) response.setHeader('repr-digest', sha256Field(digest.sha256));
  // Ranges are defined for GET only (RFC 9110, 14.2). HEAD describes the whole content.
  const ranged = context.wantsBody && isSameForRange(request.headers, validators);
  const asked = ranged ? request.headers.range : undefined;
  const range = rangeOf(asked, info.size);
  const length = range ? range.to - range.from + 1 : info.size;
  const opened = context.wantsBody && length > 0 ? await open(store, info, range, options.absent, signal) : undefined;
  if (options.attachment !== 'unsaid') {
    const type = options.attachment === false ? 'inline' : 'attachment';
    response.setHeader('content-disposition', contentDisposition(options.fileName, { type }));
  }
  response.setHeader('content-type', options.contentType);
  response.setHeader('content-length', length);
  if (range) response.setHeader('content-range', `bytes ${range.from}-${range.to}/${info.size}`);
  response.statusCode = range ? 206 : 200;
  if (opened) await sendBody(opened, response, signal);
  else response.end();
}

function rangeOf(header: string | undefined, size: number): Required<ByteRange> | undefined {
  const answer = parseRange(header, size);
  switch (answer.kind) {
    case 'whole':
      return undefined;
    case 'part':
      return answer.range;
    case 'unsatisfiable':
      throw new HttpError('bad-request', `header Range '${header}': the content has ${size} bytes`, {
        code: 416,
        headers: { 'content-range': `bytes */${size}` },
      });
    default:
      return answer satisfies never;
  }
}

async function open(
  store: Source,
  info: ObjectInfo,
  range: ByteRange | undefined,
  absent: string,
  signal: AbortSignal,
): Promise<OpenObject> {
  const opened = await store.get(info.key, range, signal);
  if (!opened) throw notFound(absent);
  if (opened.info.etag === info.etag) return opened;
  // The object was replaced between head and get, so the headers set from its head would be wrong.
  opened.body.on('error', () => undefined).destroy();
  throw transient(`object ${info.key} was replaced while it was opened`);
}

// Conditional and range requests (RFC 9110, 13 and 14). We compare tags without their `W/`. A proxy that compresses our
// responses marks the tag as weak, and the client sends it back in that form.

interface Validators {
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
function isSameForRange(headers: IncomingHttpHeaders, { etag, modified }: Validators): boolean {
  const wanted = headers['if-range'];
  return wanted === undefined || wanted === etag || (modified !== undefined && wanted === modified.toUTCString());
}

const lists = (tags: string, etag: string): boolean =>
  tags.trim() === '*' || tags.split(',').some((tag) => plain(tag) === plain(etag));

const plain = (tag: string): string => tag.trim().replace(/^W\//, '');

/** Rounds down to seconds, because HTTP dates have no fractions. */
const inSeconds = (date: Date): number => Math.floor(date.getTime() / 1000) * 1000;

type RangeAnswer =
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
