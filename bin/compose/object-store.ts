// Opens the configured object store. The libraries of the other kind are not loaded.

import { routeChange } from '../../actors/events/event-router.ts';
import type { Configuration } from '../../config/configuration.ts';
import { openDirectoryStore } from '../../engine/adapters/directory/directory-store.ts';
import { DirectoryUploadBytes } from '../../engine/adapters/directory/directory-upload-bytes.ts';
import { WriteHold } from '../../engine/adapters/directory/write-hold.ts';
import type { ChangeJournal } from '../../engine/adapters/events/postgres-queue.ts';
import type { ObjectChange } from '../../engine/model/event.ts';
import type { ObjectStore, StoreHold } from '../../engine/ports/object-store.ts';
import type { UploadBytes } from '../../engine/ports/resumable-uploads.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { storeData } from './store-reader.ts';

interface OpenStore extends Disposable {
  readonly store: ObjectStore;
  readonly uploadBytes: UploadBytes;
  /** Undefined for a bucket, because other processes may change it. */
  readonly hold?: StoreHold;
  /** Finishes changes that crashed processes left incomplete; called again after each crash of a process. */
  settle(signal: AbortSignal): Promise<void>;
}

interface StoreParts {
  /** Where the directory store records its changes. */
  readonly journal: ChangeJournal;
  /** False if others read the channels of the event log, which then carry every change. */
  readonly honorsHandOver: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

type Section = Configuration['installer']['objectStore'];

export async function openObjectStore(section: Section, parts: StoreParts, signal: AbortSignal): Promise<OpenStore> {
  const data = storeData(section);
  if (data.driver === 's3') {
    const { S3Store } = await import('../../engine/adapters/s3/s3-store.ts');
    const { S3UploadBytes } = await import('../../engine/adapters/s3/s3-upload-bytes.ts');
    const store = new S3Store(data.options, parts);
    const uploadBytes = new S3UploadBytes(data.options, store, parts);
    // S3 sends its own notifications. Crashed processes leave only unfinished multipart uploads.
    return {
      ...{ store, uploadBytes },
      settle: (until) => store.sweep(until),
      [Symbol.dispose]: () => {
        uploadBytes[Symbol.dispose]();
        store[Symbol.dispose]();
      },
    };
  }
  // Most changes concern no lane, so recording them would cost two round trips to the journal for nothing.
  const announces = (change: ObjectChange): boolean => routeChange(change).kind !== 'ignored';
  const hold = new WriteHold(parts.clock);
  const store = await openDirectoryStore({ path: data.path, announces, hold, ...parts }, signal);
  const uploadBytes = new DirectoryUploadBytes(data.path, store);
  return { store, uploadBytes, hold, settle: (until) => store.settleOrphans(until), [Symbol.dispose]: () => {} };
}
