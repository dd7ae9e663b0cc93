// Headers of the tus protocol 1.0 (https://tus.io/protocols/resumable-upload), read strictly. Errors name the header and its value.

import type { IncomingMessage } from 'node:http';
import { checkFileName } from '../../../../engine/model/file-name.ts';
import { decodeDocument } from '../../../../engine/model/utf8.ts';
import { mediaType } from '../../../kernel/bodies/body.ts';
import { quote } from '../../../kernel/input/describe.ts';
import { badRequest, HttpError, preconditionFailed, unsupportedMedia } from '../../../kernel/pipeline/errors.ts';

const VERSION = '1.0.0';
export const CHECKSUM_ALGORITHMS = ['sha1', 'sha256'] as const;
/** Media type of the bytes of an upload. */
export const OFFSET_TYPE = 'application/offset+octet-stream';

/** Headers of every response. */
export const tusHeaders = (maxUploadBytes: number): Readonly<Record<string, string>> => ({
  'tus-resumable': VERSION,
  'tus-version': VERSION,
  'tus-extension': 'creation,creation-with-upload,checksum,expiration,termination',
  'tus-max-size': String(maxUploadBytes),
  'tus-checksum-algorithm': CHECKSUM_ALGORITHMS.join(','),
});

export const httpDate = (ms: number): string => new Date(ms).toUTCString();

/** 413, as the protocol requires. Uploads in one request get 400, as their contract requires. */
export const overLength = (message: string): HttpError => new HttpError('bad-request', message, { code: 413 });
export const checksumMismatch = (message: string): HttpError => new HttpError('bad-request', message, { code: 460 });
export const locked = (message: string): HttpError =>
  new HttpError('conflict', message, { code: 423, headers: { 'retry-after': '2' } });

/** Throws 412 unless the client speaks our version. */
export function demandVersion({ headers }: IncomingMessage): void {
  const given = headers['tus-resumable'];
  if (given !== VERSION)
    throw preconditionFailed(
      `header Tus-Resumable is ${given === undefined ? 'missing' : quote(String(given))}; expected ${VERSION}`,
    );
}

export function demandOffsetType({ headers }: IncomingMessage): void {
  const given = headers['content-type'] ?? '';
  if (mediaType(given) !== OFFSET_TYPE) throw unsupportedMedia(`content type '${given}': expected ${OFFSET_TYPE}`);
}

/** Bytes in a header; undefined when it is absent. */
export function bytesIn({ headers }: IncomingMessage, name: 'Upload-Length' | 'Upload-Offset'): number | undefined {
  const given = headers[name.toLowerCase()];
  if (given === undefined) return undefined;
  const bytes = /^\d{1,16}$/.test(String(given)) ? Number(given) : Number.NaN;
  if (!Number.isSafeInteger(bytes))
    throw badRequest(`header ${name} is ${quote(String(given))}: expected a number of bytes`);
  return bytes;
}

export interface UploadMetadata {
  /** As it was sent. */
  readonly text: string;
  /** Checked, as we store it. */
  readonly fileName: string;
}

/** The name of the file is required: without it no dataset can be made of the upload. */
export function readMetadata({ headers }: IncomingMessage): UploadMetadata {
  const text = String(headers['upload-metadata'] ?? '').trim();
  const values = new Map<string, string>();
  for (const pair of text === '' ? [] : text.split(',')) {
    const [key = '', value = '', ...more] = pair.trim().split(' ');
    if (!/^[\x21-\x7e]+$/.test(key) || more.length > 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(value))
      throw badRequest(
        `header Upload-Metadata holds ${quote(pair.trim())}: expected a key, a space and text in Base64`,
      );
    if (values.has(key)) throw badRequest(`header Upload-Metadata has the key ${quote(key)} twice`);
    values.set(key, value);
  }
  const encoded = values.get('filename') ?? values.get('name');
  if (encoded === undefined)
    throw badRequest("header Upload-Metadata has no key 'filename': it names the data file, in Base64");
  const given = decodeDocument(Buffer.from(encoded, 'base64'));
  if (given === undefined) throw badRequest("header Upload-Metadata: the value of 'filename' is not UTF-8");
  const checked = checkFileName(given);
  if ('fault' in checked) throw badRequest(`header Upload-Metadata: the file name ${quote(given)} ${checked.fault}`);
  return { text, fileName: checked.name };
}

export interface Checksum {
  readonly algorithm: (typeof CHECKSUM_ALGORITHMS)[number];
  readonly digest: Buffer;
}

/** Undefined when the header is absent. */
export function readChecksum({ headers }: IncomingMessage): Checksum | undefined {
  const given = headers['upload-checksum'];
  if (given === undefined) return undefined;
  const [name = '', encoded = '', ...more] = String(given).trim().split(' ');
  const algorithm = CHECKSUM_ALGORITHMS.find((known) => known === name);
  if (!algorithm)
    throw badRequest(`header Upload-Checksum names ${quote(name)}; allowed are ${CHECKSUM_ALGORITHMS.join(', ')}`);
  const digest = Buffer.from(encoded, 'base64');
  const bytes = { sha1: 20, sha256: 32 }[algorithm];
  if (more.length > 0 || digest.length !== bytes)
    throw badRequest(
      `header Upload-Checksum is ${quote(String(given))}: expected ${algorithm} and ${bytes} bytes in Base64`,
    );
  return { algorithm, digest };
}
