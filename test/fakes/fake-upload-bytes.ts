// Bytes of resumable uploads in memory. What was written and not flushed is lost with its writer, as in a crash.

import type { UploadId } from '../../engine/model/ids.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type { ResumableUpload, UploadBytes, UploadWriter } from '../../engine/ports/resumable-uploads.ts';
import { transient } from '../../engine/runtime/failure.ts';

const SYNC_BYTES = 16 * 1024 * 1024;

export class FakeUploadBytes implements UploadBytes {
  /** Called first by every method with its name; throws what the store should fail with. */
  onCall: (method: 'open' | 'write' | 'flush' | 'handOver' | 'remove', id: UploadId) => void = () => {};
  readonly #store: Pick<ObjectStore, 'put'>;
  readonly #uploads = new Map<UploadId, Buffer>();

  constructor(store: Pick<ObjectStore, 'put'>) {
    this.#store = store;
  }

  get ids(): readonly UploadId[] {
    return [...this.#uploads.keys()];
  }

  open: UploadBytes['open'] = async ({ id, offset }, signal) => {
    this.onCall('open', id);
    signal.throwIfAborted();
    const before = (this.#uploads.get(id) ?? Buffer.alloc(0)).subarray(0, offset);
    if (before.length < offset) throw transient(`upload ${id} has ${before.length} of ${offset} bytes`);
    const chunks = [before];
    let written = offset;
    let durable = offset;
    const sync = (): void => {
      this.#uploads.set(id, Buffer.concat(chunks));
      durable = written;
    };
    const writer: UploadWriter = {
      place: 'memory',
      get durable() {
        return durable;
      },
      write: async (chunk, until) => {
        this.onCall('write', id);
        until.throwIfAborted();
        chunks.push(Buffer.from(chunk));
        written += chunk.length;
        if (written - durable >= SYNC_BYTES) sync();
      },
      flush: async (until) => {
        this.onCall('flush', id);
        until.throwIfAborted();
        sync();
      },
      [Symbol.asyncDispose]: async () => undefined,
    };
    return writer;
  };

  handOver: UploadBytes['handOver'] = async ({ id, length }: ResumableUpload, key, signal) => {
    this.onCall('handOver', id);
    signal.throwIfAborted();
    const bytes = this.#uploads.get(id);
    if (!bytes) throw transient(`upload ${id} is missing`);
    const options = { size: length, durable: false, handedOver: true } as const;
    await this.#store.put(key, bytes.subarray(0, length), options, signal);
  };

  remove: UploadBytes['remove'] = async (id, signal) => {
    this.onCall('remove', id);
    signal.throwIfAborted();
    this.#uploads.delete(id);
  };
}
