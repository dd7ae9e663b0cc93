// The object store that the configuration names.

import type { Configuration } from '../config/configuration.ts';
import type { ChangeJournal } from '../engine/adapters/change-journal.ts';
import { openDirectoryStore } from '../engine/adapters/directory-store.ts';
import type { Logger } from '../engine/log.ts';
import type { ObjectStore } from '../engine/ports/object-store.ts';
import type { Clock } from '../engine/time.ts';
import { storeData } from './store-reader.ts';

export interface OpenStore {
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
  const { path } = storeData(section);
  const store = await openDirectoryStore({ path, ...parts }, signal);
  return { store, settle: (until) => store.settleOrphans(until) };
}
