// Multipart bodies, part by part and strictly one after the other. A part's body is a stream; what a handler leaves of it
// is skipped. Held are the buffers of one part, and those parts that came in the same chunk as the end of the one before.

import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyConfig, type BusboyInstance } from '@fastify/busboy';
import { messageOf } from '../engine/failure.ts';
import { mediaType } from './body.ts';
import { badRequest, unsupportedMedia } from './errors.ts';
import { MultipartReading } from './multipart-reading.ts';

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

const HEADER_BYTES = 16 * 1024;
const BUFFER_BYTES = 256 * 1024;

/**
 * Resolves when the whole body was read and every part handled. A body that is no multipart, is cut off or breaks a
 * limit is 400; a failing handler ends the reading. Rejects once the handler under way has ended too, its body being
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
    throw unsupportedMedia(`content type '${contentType}': multipart/form-data is needed`);
  await new MultipartReading(request, openParser(contentType, limits), limits, onPart).run(signal);
}

function openParser(contentType: string, limits: MultipartLimits): BusboyInstance {
  const config: BusboyConfig = {
    headers: { 'content-type': contentType },
    // Separators must be seen to be refused, not cut away.
    preservePath: true,
    // Fields come as streams too: read here, they are bytes as they were sent, and wait for their turn like files.
    isPartAFile: () => true,
    fileHwm: BUFFER_BYTES,
    // Of chunks that wait because the part has no room.
    highWaterMark: BUFFER_BYTES,
    limits: { parts: limits.parts, headerPairs: 32, headerSize: HEADER_BYTES },
  };
  try {
    return new Busboy(config);
  } catch (error) {
    throw badRequest(`the multipart body cannot be read: ${messageOf(error)}`);
  }
}
