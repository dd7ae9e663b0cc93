// The object store in a bucket of S3, MinIO or Ceph. The store itself announces changes (bucket notifications), so there
// is no journal.
//
// put     one request if the size is known and at most 5 GiB, otherwise a multipart upload (s3-multipart.ts). Then we read
//         the head, because the response to a put does not contain the modification time.
//         Several objects are put one after the other.
// remove  one request per key, because a request for several keys does not guarantee an order. A discard is the same.
// abort   does not undo a change that the store has received in full. It then waits briefly for the store's response.

import { lstat, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { demandAllowedKey, demandDifferentKeys, RESUMABLE_PREFIX } from '../../model/object-key.ts';
import type {
  NewObject,
  ObjectInfo,
  ObjectSource,
  ObjectStore,
  PutAllOptions,
  PutOptions,
} from '../../ports/object-store.ts';
import { defect, Failure, messageOf, transient } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import { deadline } from '../../runtime/time.ts';
import { storeFault } from '../directory/directory-store-reader.ts';
import { lastHeldBack, sourceFault, wrongSize } from './s3-chunks.ts';
import { S3Connection, type S3Options, type S3Parts, textOf } from './s3-connection.ts';
import { plainTag } from './s3-listing.ts';
import { putBytes, putParts, type Stored } from './s3-multipart.ts';
import { S3Reader } from './s3-reader.ts';

export interface S3StoreParts extends S3Parts {
  readonly log: Logger;
}

/** S3's limit for a single put. */
const MAX_SINGLE_BYTES = 5 * 1024 ** 3;
/** Timeout for reading the head after a put. */
const HEAD_MS = 10_000;
const READ_BYTES = 256 * 1024;

/** The bucket must exist. The constructor makes no request. */
export class S3Store extends S3Reader implements ObjectStore, Disposable {
  readonly #connection: S3Connection;
  readonly #log: Logger;
  readonly #unfinished: UnfinishedUploads;

  constructor(options: S3Options, { log, ...parts }: S3StoreParts) {
    const connection = new S3Connection(options, parts);
    super(connection);
    this.#connection = connection;
    this.#log = log;
    this.#unfinished = new UnfinishedUploads(connection, log);
  }

  async put(key: string, source: ObjectSource, options: PutOptions, signal: AbortSignal): Promise<ObjectInfo> {
    try {
      demandAllowedKey(key);
      signal.throwIfAborted();
      const stored = await this.#store(key, source, options, signal);
      return await this.#headOf(key, stored);
    } catch (error) {
      if (source instanceof Readable) source.destroy();
      throw error;
    }
  }

  /** The bucket announces every change, and everything in it is durable. */
  async putAll(objects: readonly NewObject[], _: PutAllOptions, signal: AbortSignal): Promise<readonly ObjectInfo[]> {
    try {
      demandDifferentKeys(objects.map(({ key }) => key));
      const infos: ObjectInfo[] = [];
      for (const { key, source, options = {} } of objects) infos.push(await this.put(key, source, options, signal));
      return infos;
    } catch (error) {
      for (const { source } of objects) if (source instanceof Readable) source.destroy();
      throw error;
    }
  }

  discard(keys: readonly string[], signal: AbortSignal): Promise<void> {
    return this.remove(keys, signal);
  }

  async remove(keys: readonly string[], signal: AbortSignal): Promise<void> {
    for (const key of keys) demandAllowedKey(key);
    for (const key of new Set(keys)) {
      await this.#connection.call(
        `removing ${key}`,
        signal,
        async (call, client) => {
          call.commit();
          const request = { method: 'DELETE', key, answers: [200, 204] } as const;
          await textOf(await this.#connection.send(call, client, request));
        },
        true,
      );
    }
  }

  override async probe(signal: AbortSignal): Promise<void> {
    try {
      await super.probe(signal);
    } catch (error) {
      if (signal.aborted || (error instanceof Failure && error.kind === 'transient')) throw error;
      throw transient(messageOf(error), { cause: error, lack: 'storage' });
    }
  }

  /** Removes unfinished uploads of dead processes, at most once an hour. A failed removal is logged. */
  sweep(signal: AbortSignal): Promise<void> {
    return this.#unfinished.sweep(signal);
  }

  [Symbol.dispose](): void {
    this.#connection[Symbol.dispose]();
  }

  async #store(key: string, source: ObjectSource, options: PutOptions, signal: AbortSignal): Promise<Stored> {
    const { size } = options;
    if (!(source instanceof Uint8Array))
      return 'file' in source
        ? this.#putFile(key, source.file, size, signal)
        : this.#putStream(key, source, options, signal);
    if (size !== undefined && size !== source.length) throw wrongSize(key, `${source.length} bytes`, size);
    return putBytes(this.#connection, key, source, signal);
  }

  async #putFile(key: string, file: string, size: number | undefined, signal: AbortSignal): Promise<Stored> {
    try {
      if (!(await lstat(file)).isFile()) throw defect(`${file} is not a plain file`);
      await using handle = await open(file);
      const { size: found } = await handle.stat();
      if (size !== undefined && found !== size) throw wrongSize(key, `${found} bytes`, size);
      const content = handle.createReadStream({ highWaterMark: READ_BYTES, autoClose: false });
      try {
        return await this.#putStream(key, content, { size: found }, signal);
      } finally {
        content.destroy();
      }
    } catch (error) {
      throw storeFault(error, `putting ${key}`);
    }
  }

  async #putStream(key: string, source: Readable, options: PutOptions, signal: AbortSignal): Promise<Stored> {
    const { size } = options;
    // Nothing reads the source until the connection is open. If it fails before that, reading it reports the error.
    source.on('error', ignore);
    try {
      if (size === undefined || size > MAX_SINGLE_BYTES)
        return await putParts(this.#connection, key, source, options, this.#log, signal);
      return await this.#connection.call(`putting ${key}`, signal, async (call, client) => {
        const request = { method: 'PUT', key, answers: [200] } as const;
        const payload = { bytes: size, chunks: () => lastHeldBack(key, source, size, call) };
        const response = await this.#connection.send(call, client, request, payload);
        await textOf(response);
        return { bytes: size, etag: plainTag(response.headers.etag ?? '') };
      });
    } catch (error) {
      throw sourceFault(key, error);
    } finally {
      source.off('error', ignore);
    }
  }

  /** Reads the head of an object that was just put. It takes no signal, because an abort can no longer undo the put. */
  async #headOf(key: string, { bytes, etag }: Stored): Promise<ObjectInfo> {
    const { clock } = this.#connection;
    const what = this.#connection.describe(`putting ${key}`);
    using limit = deadline(clock, HEAD_MS, undefined, () =>
      transient(`${what}: stored, but its head cannot be read`, {
        unreachable: true,
        unanswered: true,
        lack: 'storage',
      }),
    );
    const info = await this.head(key, limit.signal);
    if (info?.size === bytes && (etag === '' || etag === info.etag)) return info;
    throw transient(`${what}: somebody else changed it at the same time`);
  }
}

const ignore = (): void => {};

// Removes multipart uploads that were left by dead processes. Stores keep them forever and charge for them. We cannot tell
// which process started an upload, so we wait for a day: none of our puts takes that long.

const AGE_MS = 24 * 60 * 60 * 1000;
/** Shortest time between two sweeps. Calls in between do nothing. */
const PERIOD_MS = 60 * 60 * 1000;

export class UnfinishedUploads {
  readonly #connection: S3Connection;
  readonly #log: Logger;
  #dueAt = 0;

  constructor(connection: S3Connection, log: Logger) {
    this.#connection = connection;
    this.#log = log;
  }

  /** Removes old unfinished uploads. Logs failures instead of throwing, because nothing depends on the removal. */
  async sweep(signal: AbortSignal): Promise<void> {
    const { clock } = this.#connection;
    if (clock.now() < this.#dueAt) return;
    this.#dueAt = clock.now() + PERIOD_MS;
    try {
      const removed = await this.#removeBefore(clock.now() - AGE_MS, signal);
      if (removed > 0) this.#log.info({ uploads: removed }, 'removed unfinished uploads of crashed processes');
    } catch (error) {
      signal.throwIfAborted();
      this.#log.warn({ reason: messageOf(error) }, 'unfinished uploads could not be listed');
    }
  }

  async #removeBefore(time: number, signal: AbortSignal): Promise<number> {
    const { bucket } = this.#connection;
    let removed = 0;
    for (let key = '', id = ''; ; ) {
      const page = await this.#connection.call('listing unfinished uploads', signal, (_call, client) =>
        client.listIncompleteUploadsQuery(bucket, '', key, id, ''),
      );
      for (const upload of page.uploads) {
        // Resumable uploads have their own expiry, and are removed with their rows.
        if (upload.initiated.getTime() >= time || upload.key.startsWith(RESUMABLE_PREFIX)) continue;
        await this.#connection.call(`removing the parts of ${upload.key}`, signal, (_call, client) =>
          client.abortMultipartUpload(bucket, upload.key, encodeURIComponent(upload.uploadId)),
        );
        removed++;
      }
      if (!page.isTruncated) return removed;
      key = page.nextKeyMarker;
      id = page.nextUploadIdMarker;
    }
  }
}
