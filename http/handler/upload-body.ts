// Reads the body of POST /job/{job-id}: a packaged dataset, either as the whole body or as part `file` of a form. The headers
// are checked before the body is read, and its first bytes are checked before the rest.

import { createWriteStream } from 'node:fs';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type ArchiveKind, detectArchive, MAGIC_BYTES } from '../../engine/archive/archive-entry.ts';
import type { PackageKind, ReceivedPackage } from '../../engine/ports/handler-jobs.ts';
import { transient } from '../../engine/runtime/failure.ts';
import { mediaType } from '../kernel/bodies/body.ts';
import { bodyStream } from '../kernel/bodies/body-stream.ts';
import { type MultipartPart, readMultipart } from '../kernel/bodies/multipart.ts';
import { badRequest } from '../kernel/pipeline/errors.ts';

/** Largest upload (docs/contract/handler.md#limits). */
export const MAX_UPLOAD_BYTES = 524_288_000;
/** Most bytes of a form besides its file. */
const FORM_BYTES = 64 * 1024;
export const FORM = 'multipart/form-data';
export const UPLOAD_TYPES = [
  'application/binary',
  'application/octet-stream',
  'application/zip',
  'application/gzip',
  FORM,
] as const;

/** Throws 400 for any fault of the headers (docs/contract/handler.md#what-is-answered-400). */
export function checkUploadHead(headers: IncomingHttpHeaders): void {
  const type = headers['content-type'];
  if (type === undefined)
    throw badRequest(`there is no Content-Type header: expected one of ${UPLOAD_TYPES.join(', ')}`);
  const media = mediaType(type);
  if (!(UPLOAD_TYPES as readonly string[]).includes(media))
    throw badRequest(`Content-Type '${type}' is not supported: expected one of ${UPLOAD_TYPES.join(', ')}`);
  const length = headers['content-length'];
  if (length === undefined) throw badRequest('there is no Content-Length header: the size has to be announced');
  if (Number(length) > MAX_UPLOAD_BYTES + (media === FORM ? FORM_BYTES : 0))
    throw tooLarge(`${length} bytes were announced`);
  if (Number(length) === 0) throw badFormat('it is empty');
}

/** Writes the package to a new file. Throws 400 when it is no package, is too large, or is cut off. */
export async function receiveUpload(
  request: IncomingMessage,
  file: string,
  signal: AbortSignal,
): Promise<ReceivedPackage> {
  if (mediaType(request.headers['content-type']) !== FORM) return save(bodyStream(request), file, signal);
  let received: ReceivedPackage | undefined;
  const onPart = async (part: MultipartPart): Promise<void> => {
    if (part.name !== 'file') throw badRequest(`part '${part.name}' is not known: the archive is sent as part 'file'`);
    if (received) throw badRequest("part 'file' comes twice");
    received = await save(part.body, file, signal);
  };
  await readMultipart(request, { parts: 10, fieldBytes: FORM_BYTES }, onPart, signal);
  if (!received) throw badRequest("the form has no part 'file'");
  return received;
}

async function save(body: Readable, file: string, signal: AbortSignal): Promise<ReceivedPackage> {
  let bytes = 0;
  let kind: PackageKind | undefined;
  let start = Buffer.alloc(0);
  const judge = (last: boolean): void => {
    if (kind || (start.length < MAGIC_BYTES && !last)) return;
    kind = kindOfStart(start);
  };
  async function* judged(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > MAX_UPLOAD_BYTES) throw tooLarge('more than that was sent');
      if (!kind) start = Buffer.concat([start, chunk.subarray(0, MAGIC_BYTES)]);
      judge(false);
      yield chunk;
    }
    judge(true);
  }
  try {
    await pipeline(body, judged, createWriteStream(file, { flags: 'wx' }), { signal });
  } catch (error) {
    // Errors of the file system, such as a full disk, are not the client's fault.
    if (error instanceof Error && 'syscall' in error)
      throw transient(`the upload cannot be kept: ${error.message}`, { cause: error });
    throw error;
  }
  return { bytes, kind: kind ?? kindOfStart(start) };
}

function kindOfStart(start: Buffer): PackageKind {
  const kind: ArchiveKind | undefined = detectArchive(start);
  switch (kind) {
    case 'zip':
      return 'zip';
    case 'gzip':
      return 'tar.gz';
    case 'empty zip':
      throw badFormat('the archive is empty');
    case 'split zip':
      throw badFormat('the archive is one part of a split zip; join the parts first');
    case undefined:
      throw badFormat(start.length === 0 ? 'it is empty' : 'its first bytes are those of neither');
    default:
      return kind satisfies never;
  }
}

const tooLarge = (found: string): Error =>
  badRequest(`the upload is too large: at most ${MAX_UPLOAD_BYTES} bytes are taken, ${found}`);

/** The 400 for a body that is no package (docs/contract/handler.md#what-is-answered-400). */
export const badFormat = (why: string): Error =>
  badRequest(`the upload is no .zip, .tar.gz or .tgz archive that can be used: ${why}`);
