// The object store that the configuration names. What the other kind stands on is not even loaded.

import { routeChange } from '../../actors/events/routing.ts';
import type { Configuration } from '../../config/configuration.ts';
import { openDirectoryStore } from '../../engine/adapters/directory/directory-store.ts';
import type { ChangeJournal } from '../../engine/adapters/events/change-journal.ts';
import type { ObjectChange } from '../../engine/model/event.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { storeData } from './store-reader.ts';

export interface OpenStore extends Disposable {
  readonly store: ObjectStore;
  /** Settles what dead processes left half told; called again whenever one has died. */
  settle(signal: AbortSignal): Promise<void>;
}

interface StoreParts {
  /** Where the directory store announces its changes. */
  readonly journal: ChangeJournal;
  readonly clock: Clock;
  readonly log: Logger;
}

type Section = Configuration['installer']['objectStore'];

export async function openObjectStore(section: Section, parts: StoreParts, signal: AbortSignal): Promise<OpenStore> {
  const data = storeData(section);
  if (data.driver === 's3') {
    const { S3Store } = await import('../../engine/adapters/s3/s3-store.ts');
    const store = new S3Store(data.options, parts);
    // It announces its changes itself; what dead processes leave there is parts of puts.
    return { store, settle: (until) => store.sweep(until), [Symbol.dispose]: () => store[Symbol.dispose]() };
  }
  // Most changes concern no lane: a round trip to the journal before each, and one after, would tell nobody anything.
  const announces = (change: ObjectChange): boolean => routeChange(change).kind !== 'ignored';
  const store = await openDirectoryStore({ path: data.path, announces, ...parts }, signal);
  return { store, settle: (until) => store.settleOrphans(until), [Symbol.dispose]: () => {} };
}
