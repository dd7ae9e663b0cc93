// Bytes of resumable uploads in a bucket, as a multipart upload of the object `resumable/{id}`. All parts but the last have the
// same size, so the offset says which parts exist. When a request ends, the bytes after the last whole part are kept as the object
// `resumable/{id}.tail`, and read again when the upload continues. An upload of at most one part is a single object.
//
// A tail or part is replaced only by one that begins with the same bytes up to the recorded offset. So after a crash, everything
// up to the recorded offset is still there.

import { buffer } from 'node:stream/consumers';
import type { UploadId } from '../../model/ids.ts';
import { resumableKey } from '../../model/object-key.ts';
import type { ObjectStore } from '../../ports/object-store.ts';
import type { ResumableUpload, UploadBytes, UploadWriter } from '../../ports/resumable-uploads.ts';
import { transient } from '../../runtime/failure.ts';
import { giveBack } from '../../runtime/give-back.ts';
import type { Logger } from '../../runtime/log.ts';
import { S3Connection, type S3Options, type S3Parts, textOf } from './s3-connection.ts';
import { copyObject } from './s3-copy.ts';
import { fieldOf, tagIn } from './s3-listing.ts';
import { MultipartUpload, PART_BYTES, type SentPart } from './s3-multipart.ts';

type Store = Pick<ObjectStore, 'put' | 'get' | 'head' | 'remove'>;

const MIB = 1024 * 1024;
/** Fewer than the 10,000 that the store accepts. */
const PARTS = 9_000;

/** The size of all parts but the last. It depends only on the length, so it is the same after a restart. */
const partBytesOf = (length: number): number => Math.max(PART_BYTES, Math.ceil(length / PARTS / MIB) * MIB);

const tailKey = (id: UploadId): string => `${resumableKey(id)}.tail`;

export class S3UploadBytes implements UploadBytes, Disposable {
  readonly #connection: S3Connection;
  readonly #store: Store;
  readonly #log: Logger;

  /** @param store the same bucket */
  constructor(options: S3Options, store: Store, { log, ...parts }: S3Parts & { readonly log: Logger }) {
    this.#connection = new S3Connection(options, parts);
    this.#store = store;
    this.#log = log;
  }

  async open(upload: ResumableUpload, signal: AbortSignal): Promise<UploadWriter> {
    signal.throwIfAborted();
    const { id, length, offset } = upload;
    const partBytes = partBytesOf(length);
    if (length <= partBytes) {
      const writer = new PartWriter(upload, length, this.#store, undefined);
      await writer.refill(offset, signal);
      return writer;
    }
    const parts = new MultipartUpload(this.#connection, resumableKey(id), this.#log, upload.place);
    if (upload.place === undefined) await parts.begin(signal);
    const writer = new PartWriter(upload, partBytes, this.#store, parts);
    await writer.refill(offset % partBytes, signal);
    return writer;
  }

  async handOver(upload: ResumableUpload, key: string, signal: AbortSignal): Promise<void> {
    const { id, length } = upload;
    const from = { key: resumableKey(id), bytes: length };
    if (length > partBytesOf(length) && !(await this.#store.head(from.key, signal))) await this.#join(upload, signal);
    await copyObject(this.#connection, from, key, this.#log, signal);
  }

  async remove(id: UploadId, signal: AbortSignal): Promise<void> {
    const { bucket } = this.#connection;
    const key = resumableKey(id);
    await this.#connection.call(`removing the parts of ${key}`, signal, async (_call, client) => {
      const { uploads } = await client.listIncompleteUploadsQuery(bucket, key, '', '', '');
      // The prefix also finds a tail that was so large that it was sent in parts.
      for (const { key: found, uploadId } of uploads)
        await client.abortMultipartUpload(bucket, found, encodeURIComponent(uploadId));
    });
    await this.#store.remove([tailKey(id), key], signal);
  }

  [Symbol.dispose](): void {
    this.#connection[Symbol.dispose]();
  }

  async #join({ id, length, place = '' }: ResumableUpload, signal: AbortSignal): Promise<void> {
    const key = resumableKey(id);
    const parts = await this.#partsOf(key, place, signal);
    const count = Math.ceil(length / partBytesOf(length));
    if (parts.length !== count) throw transient(`${key} has ${parts.length} of ${count} parts`);
    await new MultipartUpload(this.#connection, key, this.#log, place).complete(signal, parts);
  }

  async #partsOf(key: string, place: string, signal: AbortSignal): Promise<readonly SentPart[]> {
    const parts: SentPart[] = [];
    const what = `listing the parts of ${key}`;
    for (;;) {
      const query = `part-number-marker=${parts.at(-1)?.part ?? 0}&uploadId=${encodeURIComponent(place)}`;
      const text = await this.#connection.call(
        what,
        signal,
        async (call, client) =>
          textOf(await this.#connection.send(call, client, { method: 'GET', key, query, answers: [200] })),
        true,
      );
      const page = [...text.matchAll(/<Part>(.*?)<\/Part>/gs)].map(([, part = '']) => ({
        part: Number(fieldOf(part, '<PartNumber>')),
        etag: tagIn(part) ?? '',
      }));
      parts.push(...page);
      if (fieldOf(text, '<IsTruncated>') !== 'true') return parts;
      if (page.length === 0) throw transient(`${what}: an empty page that is not the last`);
    }
  }
}

/** One part is sent while the next is filled, so two parts are in memory. */
class PartWriter implements UploadWriter {
  readonly place: string | undefined;
  durable: number;
  readonly #upload: ResumableUpload;
  readonly #partBytes: number;
  readonly #store: Store;
  /** Undefined: the upload becomes one object. */
  readonly #parts: MultipartUpload | undefined;
  readonly #ended = new AbortController();
  #buffer: Buffer;
  #other: Buffer | undefined;
  #held = 0;
  /** Bytes of the upload before the buffer. */
  #sent: number;
  #sending: Promise<void> | undefined;

  constructor(upload: ResumableUpload, partBytes: number, store: Store, parts: MultipartUpload | undefined) {
    this.#upload = upload;
    this.#partBytes = partBytes;
    this.#store = store;
    this.#parts = parts;
    this.place = parts?.id;
    this.durable = this.#sent = upload.offset;
    this.#buffer = Buffer.allocUnsafeSlow(partBytes);
  }

  /** Reads the bytes behind the last whole part. */
  async refill(bytes: number, signal: AbortSignal): Promise<void> {
    if (bytes === 0) return;
    const key = tailKey(this.#upload.id);
    const opened = await this.#store.get(key, { from: 0, to: bytes - 1 }, signal);
    const found = opened && (await buffer(opened.body));
    if (found?.length !== bytes) throw transient(`${key} has ${found?.length ?? 'none'} of ${bytes} bytes`);
    this.#buffer.set(found);
    this.#held = bytes;
    this.#sent -= bytes;
  }

  async write(chunk: Uint8Array, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    for (let rest = chunk; rest.length > 0; ) {
      const piece = rest.subarray(0, this.#partBytes - this.#held);
      this.#buffer.set(piece, this.#held);
      this.#held += piece.length;
      rest = rest.subarray(piece.length);
      if (this.#parts && this.#held === this.#partBytes) await this.#send(this.#parts);
    }
  }

  async flush(signal: AbortSignal): Promise<void> {
    const { id, length } = this.#upload;
    const end = this.#sent + this.#held;
    if (this.#parts && end === length && this.#held > 0) await this.#send(this.#parts);
    await this.#sending;
    if (end === this.durable && (this.#parts || end < length)) return;
    const isWhole = end === length;
    const key = isWhole ? resumableKey(id) : tailKey(id);
    const bytes = this.#buffer.subarray(0, this.#held);
    await this.#store.put(key, bytes, { size: bytes.length }, signal);
    this.durable = end;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    await this.#sending?.catch(() => undefined);
    giveBack(this.#buffer);
    if (this.#other) giveBack(this.#other);
  }

  async #send(parts: MultipartUpload): Promise<void> {
    await this.#sending;
    const bytes = this.#buffer.subarray(0, this.#held);
    const end = this.#sent + this.#held;
    const part = Math.floor(this.#sent / this.#partBytes) + 1;
    this.#sending = parts.send(bytes, this.#ended.signal, part).then(() => {
      this.durable = end;
    });
    // It is awaited before the next part and by flush.
    this.#sending.catch(() => undefined);
    [this.#buffer, this.#other] = [this.#other ?? Buffer.allocUnsafeSlow(this.#partBytes), this.#buffer];
    this.#sent = end;
    this.#held = 0;
  }
}
