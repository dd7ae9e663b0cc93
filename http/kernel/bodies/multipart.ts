// Reads multipart bodies part by part, strictly in order. A part's body is a stream; what its handler does not read is skipped.
// Memory holds the buffers of one part, and parts that arrived in the same chunk as the end of the one before.
//
// The parser is Dicer, the lower layer of @fastify/busboy, which reports every part. The upper layer silently drops parts whose
// headers it cannot read, and its decoding of names loses information.

import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Dicer } from '@fastify/busboy';
import { messageOf } from '../../../engine/runtime/failure.ts';
import { badRequest, unsupportedMedia } from '../pipeline/errors.ts';
import { mediaType } from './body.ts';
import { MultipartReading } from './multipart-reading.ts';
import { readParameters } from './part-head.ts';

export interface MultipartPart {
  readonly name: string;
  /**
   * As the client sent it, path separators included. Use it as a label, never as a path. Undefined when the part is no file.
   */
  readonly fileName: string | undefined;
  /** Without parameters; `text/plain` when the part has none. */
  readonly contentType: string;
  readonly body: Readable;
}

export interface MultipartLimits {
  readonly parts: number;
  /** Most bytes of a part that is no file. */
  readonly fieldBytes: number;
}

export const MULTIPART_LIMITS: MultipartLimits = { parts: 1_000, fieldBytes: 1024 * 1024 };

/** Limits on the size and number of a part's headers. The parser ignores headers beyond them. */
const HEADER_BYTES = 16 * 1024;
const HEADER_LINES = 32;
const BUFFER_BYTES = 256 * 1024;

/**
 * Resolves when the whole body was read and all parts were handled. Rejects with 400 when the body is not multipart, is cut
 * off, exceeds a limit, or has an unusable part (415 for another media type). A failing handler ends the reading. After a
 * failure, the body of the current part is destroyed with the reason, and the promise rejects once the part's handler has
 * ended. The server discards the rest of the request. The empty file parts that browsers send for unused inputs are skipped.
 */
export async function readMultipart(
  request: IncomingMessage,
  limits: MultipartLimits,
  onPart: (part: MultipartPart) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const contentType = request.headers['content-type'] ?? '';
  if (mediaType(contentType) !== 'multipart/form-data')
    throw unsupportedMedia(`content type '${contentType}': expected multipart/form-data`);
  const boundary = boundaryOf(contentType);
  await new MultipartReading(request, openParser(boundary), boundary, limits, onPart).run(signal);
}

function boundaryOf(contentType: string): string {
  const read = readParameters(contentType);
  const boundary = 'fault' in read ? undefined : read.parameters.get('boundary');
  if (boundary) return boundary;
  throw badRequest(
    `the multipart body cannot be read: there is no boundary in Content-Type '${contentType.slice(0, 200)}'`,
  );
}

function openParser(boundary: string): Dicer {
  // The type declaration lacks some of these options.
  const config = {
    boundary,
    maxHeaderPairs: HEADER_LINES,
    maxHeaderSize: HEADER_BYTES,
    partHwm: BUFFER_BYTES,
    // Bound on the chunks that wait while the part has no room.
    highWaterMark: BUFFER_BYTES,
  };
  try {
    return new Dicer(config);
  } catch (error) {
    throw badRequest(`the multipart body cannot be read: ${messageOf(error)}`);
  }
}
