// Bytes of resumable uploads beside the objects of a directory store: one file each, `resumable/{id}`, written in order and synced
// every 16 MiB. To make an object of it, we link the finished file a second time, as `{id}.link`, and the store moves that link
// into place. No byte is copied, and a crash leaves the file as it was.

import { constants, type FileHandle, link, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { UploadId } from '../../model/ids.ts';
import type { ObjectStore } from '../../ports/object-store.ts';
import type { ResumableUpload, UploadBytes, UploadWriter } from '../../ports/resumable-uploads.ts';
import { transient } from '../../runtime/failure.ts';
import { storeFault } from './directory-store-reader.ts';

const WRITE_BYTES = 1024 * 1024;
const SYNC_BYTES = 16 * 1024 * 1024;

export class DirectoryUploadBytes implements UploadBytes {
  readonly #folder: string;
  readonly #store: Pick<ObjectStore, 'put'>;

  /**
   * @param path of the directory store; the folder is created when it is needed
   * @param store counts nothing
   */
  constructor(path: string, store: Pick<ObjectStore, 'put'>) {
    this.#folder = join(path, 'resumable');
    this.#store = store;
  }

  async open(upload: ResumableUpload, signal: AbortSignal): Promise<UploadWriter> {
    signal.throwIfAborted();
    const file = this.#file(upload.id);
    try {
      const isNew = upload.offset === 0;
      if (isNew) await mkdir(this.#folder, { recursive: true, mode: 0o750 });
      const handle = await open(file, constants.O_RDWR | constants.O_NOFOLLOW | (isNew ? constants.O_CREAT : 0), 0o640);
      try {
        if ((await handle.stat()).size < upload.offset)
          throw transient(`${file} is shorter than ${upload.offset} bytes`);
        await handle.truncate(upload.offset);
        if (isNew) for (const folder of [this.#folder, join(this.#folder, '..')]) await syncFolder(folder);
        return new FileWriter(handle, upload.offset);
      } catch (error) {
        await handle.close().catch(() => undefined);
        throw error;
      }
    } catch (error) {
      throw storeFault(error, `resumable upload ${upload.id}`);
    }
  }

  async handOver({ id, length }: ResumableUpload, key: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const second = `${this.#file(id)}.link`;
    try {
      // Left by an attempt that crashed.
      await rm(second, { force: true });
      await link(this.#file(id), second);
      await this.#store.put(key, { file: second }, { size: length, durable: false, handedOver: true }, signal);
    } catch (error) {
      // What stays is removed by the next attempt, or with the upload.
      await rm(second, { force: true }).catch(() => undefined);
      throw storeFault(error, `resumable upload ${id}`);
    }
  }

  async remove(id: UploadId, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    for (const file of [`${this.#file(id)}.link`, this.#file(id)]) {
      try {
        await rm(file, { force: true });
      } catch (error) {
        throw storeFault(error, `resumable upload ${id}`);
      }
    }
  }

  #file(id: UploadId): string {
    return join(this.#folder, id);
  }
}

async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r');
  await handle.sync();
}

class FileWriter implements UploadWriter {
  readonly place = undefined;
  durable: number;
  readonly #handle: FileHandle;
  readonly #buffer = Buffer.allocUnsafe(WRITE_BYTES);
  #held = 0;
  #written: number;
  #syncing: Promise<void> | undefined;
  #syncedFrom: number;

  constructor(handle: FileHandle, offset: number) {
    this.#handle = handle;
    this.durable = this.#written = this.#syncedFrom = offset;
  }

  async write(chunk: Uint8Array, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    for (let rest = chunk; rest.length > 0; ) {
      const part = rest.subarray(0, WRITE_BYTES - this.#held);
      this.#buffer.set(part, this.#held);
      this.#held += part.length;
      rest = rest.subarray(part.length);
      if (this.#held === WRITE_BYTES) await this.#writeOut();
    }
  }

  async flush(): Promise<void> {
    await this.#writeOut();
    await this.#syncing;
    if (this.durable < this.#written) await this.#sync();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#syncing?.catch(() => undefined);
    await this.#handle.close();
  }

  async #writeOut(): Promise<void> {
    try {
      for (let done = 0; done < this.#held; ) {
        const at = this.#written + done;
        done += (await this.#handle.write(this.#buffer, done, this.#held - done, at)).bytesWritten;
      }
    } catch (error) {
      throw storeFault(error, 'writing a resumable upload');
    }
    this.#written += this.#held;
    this.#held = 0;
    if (this.#written - this.#syncedFrom < SYNC_BYTES) return;
    await this.#syncing;
    this.#syncing = this.#sync();
    // It is awaited before the next sync and by flush.
    this.#syncing.catch(() => undefined);
  }

  async #sync(): Promise<void> {
    const upTo = this.#written;
    this.#syncedFrom = upTo;
    try {
      await this.#handle.datasync();
    } catch (error) {
      throw storeFault(error, 'writing a resumable upload');
    }
    this.durable = upTo;
  }
}
