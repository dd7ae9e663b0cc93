// A put of unknown or large size, as a multipart upload. One part is sent while the next is filled, so two parts are in
// memory. A source that ends before its first part is full becomes a single put. After a failure we remove the upload.
//   filling     the source fills a part
//   sending     a part is sent while the next one is filled
//   completing  the store has all parts and joins them into one object

import type { Readable } from 'node:stream';
import type { Client } from 'minio';
import type { PutOptions } from '../../ports/object-store.ts';
import { defect, messageOf } from '../../runtime/failure.ts';
import { giveBack } from '../../runtime/give-back.ts';
import { JoinedSignal } from '../../runtime/joined-signal.ts';
import type { Logger } from '../../runtime/log.ts';
import { deadline } from '../../runtime/time.ts';
import { unlessAborted } from '../../runtime/wait.ts';
import type { S3Call } from './s3-call.ts';
import { asBuffer, slicesOf, wrongSize } from './s3-chunks.ts';
import { type S3Connection, textOf } from './s3-connection.ts';
import { plainTag } from './s3-listing.ts';

interface Part {
  readonly bytes: Buffer;
  readonly isLast: boolean;
}

export interface SentPart {
  readonly part: number;
  readonly etag: string;
}

export const PART_BYTES = 8 * 1024 * 1024;
/** The store accepts 10,000 parts. Every 1,000 parts, they grow by `PART_BYTES`, so an object may have up to 430 GiB. */
const SAME_SIZE_PARTS = 1_000;
const MAX_PARTS = 10_000;
/** Some stores copy all parts when an upload is completed. */
export const COMPLETE_MS = 10 * 60_000;
/** Timeout for removing an unfinished upload. Short, because the put has failed and its caller is waiting. */
const CLEAR_MS = 5_000;

/** What was stored. The etag is empty if the store does not return one. */
export interface Stored {
  readonly bytes: number;
  readonly etag: string;
}

export async function putParts(
  connection: S3Connection,
  key: string,
  source: Readable,
  options: PutOptions,
  log: Logger,
  signal: AbortSignal,
): Promise<Stored> {
  using sender = new JoinedSignal(signal);
  const parts = partsOf(key, source, options);
  // The source may never produce another chunk, so an abort or a failed part must not wait for it.
  const next = async (): Promise<Part | undefined> => (await unlessAborted(parts.next(), sender.signal)).value;
  const first = await next();
  if (!first || first.isLast) return putBytes(connection, key, first?.bytes ?? Buffer.alloc(0), signal);
  const upload = new MultipartUpload(connection, key, log);
  await upload.begin(signal);
  let sending: Promise<void> | undefined;
  try {
    let bytes = 0;
    for (let part: Part | undefined = first; part; part = await next()) {
      bytes += part.bytes.length;
      await sending;
      sending = upload.send(part.bytes, sender.signal);
      sending.catch((error: unknown) => sender.abort(error));
    }
    await sending;
    return { bytes, etag: await upload.complete(signal) };
  } catch (error) {
    sender.abort(error);
    await sending?.catch(() => undefined);
    await upload.clear();
    throw error;
  }
}

/** Stores bytes in memory as one object. */
export async function putBytes(
  connection: S3Connection,
  key: string,
  bytes: Uint8Array,
  signal: AbortSignal,
): Promise<Stored> {
  return { bytes: bytes.length, etag: await put(connection, key, undefined, bytes, true, signal) };
}

/** @returns the etag */
function put(
  connection: S3Connection,
  key: string,
  query: string | undefined,
  bytes: Uint8Array,
  commits: boolean,
  signal: AbortSignal,
): Promise<string> {
  const work = async (call: S3Call, client: Client): Promise<string> => {
    const request = { method: 'PUT', key, answers: [200], ...(query === undefined ? {} : { query }) } as const;
    const payload = { bytes: bytes.length, chunks: (within: S3Call) => slicesOf(bytes, within, commits) };
    const response = await connection.send(call, client, request, payload);
    await textOf(response);
    return plainTag(response.headers.etag ?? '');
  };
  return connection.call(`putting ${key}`, signal, work, true);
}

export class MultipartUpload {
  readonly #connection: S3Connection;
  readonly #key: string;
  readonly #log: Logger;
  readonly #parts: SentPart[] = [];
  #id: string;

  /** @param id of an upload that has already begun; default: `begin` has to be called */
  constructor(connection: S3Connection, key: string, log: Logger, id = '') {
    this.#connection = connection;
    this.#key = key;
    this.#log = log;
    this.#id = id;
  }

  get id(): string {
    return this.#id;
  }

  async begin(signal: AbortSignal): Promise<void> {
    const { bucket } = this.#connection;
    this.#id = await this.#connection.call(
      `putting ${this.#key}`,
      signal,
      (_call, client) => client.initiateNewMultipartUpload(bucket, this.#key, {}),
      true,
    );
  }

  /** @param part its number; replaces a part that was sent before with the same number */
  async send(bytes: Buffer, signal: AbortSignal, part = this.#parts.length + 1): Promise<void> {
    const query = this.partQuery(part);
    this.#parts.push({ part, etag: await put(this.#connection, this.#key, query, bytes, false, signal) });
  }

  complete(signal: AbortSignal, parts: readonly SentPart[] = this.#parts): Promise<string> {
    const { bucket } = this.#connection;
    const inOrder = parts.toSorted((a, b) => a.part - b.part);
    return this.#connection.call(`putting ${this.#key}`, signal, async (call, client) => {
      call.commit();
      call.expect(COMPLETE_MS, 'an answer');
      const { etag } = await client.completeMultipartUpload(bucket, this.#key, this.#id, inOrder);
      return etag ?? '';
    });
  }

  partQuery(part: number): string {
    if (part > MAX_PARTS) throw defect(`${this.#key}: more than ${MAX_PARTS} parts`);
    return `partNumber=${part}&uploadId=${encodeURIComponent(this.#id)}`;
  }

  /** Removes the parts. If that fails, the sweep removes them later (s3-store.ts). */
  async clear(): Promise<void> {
    const { bucket, clock } = this.#connection;
    using limit = deadline(clock, CLEAR_MS, undefined, () => new Error(`not within ${CLEAR_MS} ms`));
    try {
      await this.#connection.call(`removing the parts of ${this.#key}`, limit.signal, (_call, client) =>
        client.abortMultipartUpload(bucket, this.#key, encodeURIComponent(this.#id)),
      );
    } catch (error) {
      this.#log.warn({ key: this.#key, reason: messageOf(error) }, 'an unfinished upload was left in the store');
    }
  }
}

/** The parts share two buffers: a part is valid until the part after the next one is requested. */
async function* partsOf(
  key: string,
  source: AsyncIterable<Uint8Array | string>,
  { size, ownChunks }: PutOptions,
): AsyncGenerator<Part, undefined, undefined> {
  const buffers: Buffer[] = [];
  let made = 0;
  let held = 0;
  let bytes = 0;
  const current = (): Buffer => {
    const wanted = PART_BYTES * (Math.floor(made / SAME_SIZE_PARTS) + 1);
    let buffer = buffers[made % 2];
    // The system does not commit memory that is never written, so a small object does not cost a whole part.
    if (buffer?.length !== wanted) buffer = buffers[made % 2] = Buffer.allocUnsafeSlow(wanted);
    return buffer;
  };
  for await (const chunk of source) {
    for (let rest = asBuffer(chunk); rest.length > 0; ) {
      const buffer = current();
      const taken = rest.subarray(0, buffer.length - held);
      buffer.set(taken, held);
      held += taken.length;
      bytes += taken.length;
      rest = rest.subarray(taken.length);
      if (size !== undefined && bytes > size) throw wrongSize(key, 'more', size);
      if (held < buffer.length) continue;
      yield { bytes: buffer, isLast: false };
      made++;
      held = 0;
    }
    if (ownChunks && typeof chunk !== 'string') giveBack(chunk);
  }
  if (size !== undefined && bytes !== size) throw wrongSize(key, `${bytes} bytes`, size);
  // An object may be empty, so an empty first part counts.
  if (held > 0 || made === 0) yield { bytes: current().subarray(0, held), isLast: true };
  return undefined;
}
