// The body of a put as chunks. The store has a deadline to accept each chunk; the source has none. The last chunk is held
// back until the source has ended with the announced size. So if the source fails or has another size, the store never
// receives a complete object.

import { codeOf, rejected, transient } from '../../runtime/failure.ts';
import type { S3Call } from './s3-call.ts';

/**
 * Bytes in memory are sent in slices of this size, each with its own deadline. If the store accepts less than one slice
 * within `idleMs`, the call fails. Slices of 256 KiB would cost a tenth more CPU per upload.
 */
const SLICE_BYTES = 1024 * 1024;

/** @param size the content length of the request; a source of another size is `rejected` */
export async function* lastHeldBack(
  key: string,
  source: AsyncIterable<Uint8Array | string>,
  size: number,
  call: S3Call,
): AsyncGenerator<Buffer, void, undefined> {
  const { idleMs, answerMs } = call.times;
  let held: Buffer | undefined;
  call.rest();
  for await (const chunk of announced(key, source, size, call)) {
    if (held) {
      call.expect(idleMs, 'room for more');
      yield held;
      call.rest();
    }
    held = chunk;
  }
  call.commit();
  call.expect(answerMs, 'an answer');
  if (held) yield held;
}

/** The source's chunks. If the source fails, the call fails with the source's error, whatever the connection reports. */
async function* announced(
  key: string,
  source: AsyncIterable<Uint8Array | string>,
  size: number,
  call: S3Call,
): AsyncGenerator<Buffer, void, undefined> {
  let bytes = 0;
  try {
    for await (const chunk of source) {
      if (chunk.length === 0) continue;
      const next = asBuffer(chunk);
      bytes += next.length;
      if (bytes > size) throw wrongSize(key, 'more', size);
      yield next;
    }
    if (bytes !== size) throw wrongSize(key, `${bytes} bytes`, size);
  } catch (error) {
    call.cut(sourceFault(key, error));
    throw error;
  }
}

/** @param commits false for a part of a multipart upload, which does not create an object by itself */
export async function* slicesOf(
  bytes: Uint8Array,
  call: S3Call,
  commits: boolean,
): AsyncGenerator<Buffer, void, undefined> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    const isLast = at + SLICE_BYTES >= bytes.length;
    if (isLast && commits) call.commit();
    call.expect(isLast ? call.times.answerMs : call.times.idleMs, isLast ? 'an answer' : 'room for more');
    yield asBuffer(bytes.subarray(at, at + SLICE_BYTES));
  }
  if (bytes.length === 0 && commits) call.commit();
}

/** Maps a source's error. A source that closes early was ended by its producer, which has handled the reason: `transient`. */
export function sourceFault(key: string, error: unknown): unknown {
  return codeOf(error) === 'ERR_STREAM_PREMATURE_CLOSE'
    ? transient(`the source of ${key} closed before its end`, { cause: error })
    : error;
}

export const wrongSize = (key: string, found: string, size: number): Error =>
  rejected(`${key}: the source has ${found}, but ${size} bytes were announced`);

export function asBuffer(chunk: Uint8Array | string): Buffer {
  if (typeof chunk === 'string') return Buffer.from(chunk);
  return Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}
