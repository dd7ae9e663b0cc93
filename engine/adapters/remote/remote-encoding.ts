// What to do with content that a server encodes although it was asked for the file as it is. Gzip is taken off, unless
// the file is a gzip file anyhow: servers say of `a.tar.gz` that it is `a.tar`, encoded. Nothing else is understood.

import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

/**
 * The file's content: the body itself where nothing has to be done, undefined where nothing can be.
 * @param encoding the Content-Encoding, in lower case; may be empty
 */
export function decoded(body: Readable, encoding: string, fileName: string): Readable | undefined {
  if (encoding === '' || encoding === 'identity') return body;
  if (encoding !== 'gzip' && encoding !== 'x-gzip') return undefined;
  if (/\.t?gz$/i.test(fileName)) return body;
  // Its reader is told of an error of either.
  return pipeline(body, createGunzip(), () => undefined);
}
