// Sends an object of the store: length, validators, one range, HEAD, a safe file name.

import { pipeline } from 'node:stream/promises';
import { create as contentDisposition } from 'content-disposition';
import type { ObjectStore } from '../engine/ports/object-store.ts';
import type { RequestContext } from './context.ts';
import { notFound } from './errors.ts';
import { parseRange } from './ranges.ts';

export interface DownloadOptions {
  readonly key: string;
  readonly contentType: string;
  readonly fileName: string;
  /** False lets a browser show it. */
  readonly attachment?: boolean;
  /** What a 404 says. */
  readonly absent: string;
}

export async function sendObject(
  context: RequestContext,
  store: Pick<ObjectStore, 'get' | 'head'>,
  options: DownloadOptions,
): Promise<void> {
  const { request, response, signal } = context;
  const info = await store.head(options.key, signal);
  if (!info) throw notFound(options.absent);
  const etag = `"${info.etag}"`;
  const modified = info.modified.toUTCString();
  response.setHeader('etag', etag);
  response.setHeader('last-modified', modified);
  response.setHeader('accept-ranges', 'bytes');
  response.setHeader('cache-control', 'private, no-cache');
  const type = options.attachment === false ? 'inline' : 'attachment';
  response.setHeader('content-disposition', contentDisposition(options.fileName, { type }));
  if (request.headers['if-none-match'] !== undefined && matches(request.headers['if-none-match'], etag)) {
    context.empty(304);
    return;
  }
  const ifRange = request.headers['if-range'];
  const rangeIsFresh = ifRange === undefined || ifRange === etag || ifRange === modified;
  const asked = parseRange(rangeIsFresh ? request.headers.range : undefined, info.size);
  if (asked.kind === 'unsatisfiable') {
    context.empty(416, { 'content-range': `bytes */${info.size}` });
    return;
  }
  const range = asked.kind === 'part' ? asked.range : undefined;
  const length = range ? range.to - range.from + 1 : info.size;
  response.setHeader('content-type', options.contentType);
  response.setHeader('content-length', length);
  if (range) response.setHeader('content-range', `bytes ${range.from}-${range.to}/${info.size}`);
  response.statusCode = range ? 206 : 200;
  if (!context.wantsBody || length === 0) {
    response.end();
    return;
  }
  const opened = await store.get(options.key, range, signal);
  // Put anew between head and get: the headers say something else, so start over at the client.
  if (!opened || opened.info.etag !== info.etag) {
    opened?.body.destroy();
    for (const name of response.getHeaderNames()) if (name.startsWith('content-')) response.removeHeader(name);
    throw notFound(options.absent);
  }
  await pipeline(opened.body, response, { signal });
}

const matches = (header: string, etag: string): boolean =>
  header.trim() === '*' || header.split(',').some((one) => one.trim().replace(/^W\//, '') === etag);
