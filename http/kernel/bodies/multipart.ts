// Multipart bodies, part by part and strictly one after the other. A part's body is a stream; what a handler leaves of it
// is skipped. Held are the buffers of one part, and those parts that came in the same chunk as the end of the one before.
//
// Parsed by Dicer, the lower half of @fastify/busboy, which shows every part. The upper half leaves out parts whose headers it
// cannot read, without a word, and decodes names with loss.

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
  /** As the client sent it, separators included: a label, never a path. Undefined when the part is no file. */
  readonly fileName: string | undefined;
  /** Without parameters; `text/plain` when the part did not say. */
  readonly contentType: string;
  readonly body: Readable;
}

export interface MultipartLimits {
  readonly parts: number;
  /** Bytes of a part that is no file. */
  readonly fieldBytes: number;
}

export const MULTIPART_LIMITS: MultipartLimits = { parts: 1_000, fieldBytes: 1024 * 1024 };

/** Of the headers of one part, and how many there may be: what is beyond is as good as not there. */
const HEADER_BYTES = 16 * 1024;
const HEADER_LINES = 32;
const BUFFER_BYTES = 256 * 1024;

/**
 * Resolves when the whole body was read and every part handled. A body that is no multipart, is cut off or breaks a
 * limit, or has a part that cannot be used, is 400; a failing handler ends the reading. Rejects once the handler under way has ended too, its body being
 * destroyed with the reason; the rest of the request is the server's to discard. The empty file parts that browsers
 * send for unused inputs are skipped.
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
  // More than the type declaration knows of.
  const config = {
    boundary,
    maxHeaderPairs: HEADER_LINES,
    maxHeaderSize: HEADER_BYTES,
    partHwm: BUFFER_BYTES,
    // Of chunks that wait because the part has no room.
    highWaterMark: BUFFER_BYTES,
  };
  try {
    return new Dicer(config);
  } catch (error) {
    throw badRequest(`the multipart body cannot be read: ${messageOf(error)}`);
  }
}
