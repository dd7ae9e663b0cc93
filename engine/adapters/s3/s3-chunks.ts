// What is put, as chunks with a deadline each: the store has to take a chunk before long, the source may take its time.
// The last chunk is held back until the source has ended as announced, so that a source that fails, or is longer or
// shorter than it said, has never been sent whole.

import { rejected, transient } from '../../runtime/failure.ts';
import { codeOf } from '../directory/directory-store-fault.ts';
import type { S3Call } from './s3-call.ts';

/**
 * Of bytes at hand, so that each has its own deadline: a store that takes less than this in the time that it may be idle is
 * given up. With 256 KiB an upload takes a tenth more of the processor.
 */
const SLICE_BYTES = 1024 * 1024;

/** @param size is what the request was told; anything else is `rejected` */
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

/** The source's own chunks. What goes wrong with it is the reason of the failure, whatever the connection makes of it. */
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

/** @param commits false when more has to be said before an object is there */
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

/** A source that closed before its end was given up by whoever feeds it, who knows why. */
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
