// Sends an object of the store, with its length, validators and a safe file name. Supports HEAD and single ranges.

import { create as contentDisposition } from 'content-disposition';
import type { ByteRange, ObjectInfo, ObjectStore, OpenObject } from '../../../engine/ports/object-store.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import type { RequestContext } from '../pipeline/context.ts';
import { HttpError, notFound } from '../pipeline/errors.ts';
import { isKnown, isSameForRange, parseRange, requireMatch } from './conditional.ts';
import { sendBody } from './sending.ts';

export interface DownloadOptions {
  readonly key: string;
  readonly contentType: string;
  readonly fileName: string;
  /** The `Content-Disposition`: true (default) is `attachment`, false is `inline`, and `unsaid` sends no such header. */
  readonly attachment?: boolean | 'unsaid';
  /** The message of a 404. */
  readonly absent: string;
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
