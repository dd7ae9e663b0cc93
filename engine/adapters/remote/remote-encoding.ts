// Handles servers that send encoded content although we asked for identity. Gzip is decoded, unless the file is a gzip file
// itself: servers send `a.tar.gz` as a gzip-encoded `a.tar`. Other encodings are not supported.

import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

/**
 * The file's content: the body itself if it needs no decoding, undefined if the encoding is not supported.
 * @param encoding the Content-Encoding, in lower case; may be empty
 */
export function decoded(body: Readable, encoding: string, fileName: string): Readable | undefined {
  if (encoding === '' || encoding === 'identity') return body;
  if (encoding !== 'gzip' && encoding !== 'x-gzip') return undefined;
  if (/\.t?gz$/i.test(fileName)) return body;
  // The reader receives errors of both streams.
  return pipeline(body, createGunzip(), () => undefined);
}
