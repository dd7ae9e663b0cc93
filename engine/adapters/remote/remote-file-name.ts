// The name of a downloaded file: from the server (RFC 6266), otherwise from the URL, otherwise `upload`. A server's name is as
// untrusted as a user's, so the same rules for file names apply.

import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { parse } from 'content-disposition';
import { checkFileName } from '../../model/file-name.ts';
import { decodeUtf8 } from '../../model/utf8.ts';

const NAMELESS = 'upload';

/** @param disposition the header as undici returns it: bytes as Latin-1 */
export function remoteFileName(disposition: string | undefined, url: URL): string {
  const given = disposition === undefined ? undefined : parse(disposition).parameters.filename;
  for (const candidate of [given === undefined ? undefined : fromLatin1(given), fromPath(url)]) {
    if (candidate === undefined) continue;
    // RFC 6266, 4.3: only the last part of a path counts.
    const start = Math.max(candidate.lastIndexOf('/'), candidate.lastIndexOf('\\')) + 1;
    const checked = checkFileName(candidate.slice(start).trim());
    if ('name' in checked) return checked.name;
  }
  return NAMELESS;
}

function fromPath(url: URL): string {
  const segment = url.pathname.slice(url.pathname.lastIndexOf('/') + 1);
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Decodes header text that a server sent as raw UTF-8, which is common although not allowed. */
export function fromLatin1(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range of Latin-1
  if (!/^[\u0000-\u00ff]*$/.test(text)) return text;
  return decodeUtf8(Buffer.from(text, 'latin1')) ?? text;
}

// Handles servers that send encoded content although we asked for identity. Gzip is decoded, unless the file is a gzip file
// itself: servers send `a.tar.gz` as a gzip-encoded `a.tar`. Other encodings are not supported.

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
