// The object store of a reconciler's run: a bucket or a directory, opened with the product's own adapters.

import { openDirectoryStore } from '../../engine/adapters/directory/directory-store.ts';
import type { S3Options } from '../../engine/adapters/s3/s3-connection.ts';
import { S3Store } from '../../engine/adapters/s3/s3-store.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';

/** Plain data: it goes to another process. */
export type StoreAt = S3Options | { readonly path: string };

/** Nobody is told of what changes. */
const journal = { note: async () => [], release: async () => {}, drop: async () => {}, orphans: async () => [] };

export async function openStore(at: StoreAt): Promise<ObjectStore> {
  const log = silentLogger();
  if (!('path' in at)) return new S3Store(at, { log });
  const options = { path: at.path, journal, announces: () => false, clock: systemClock, log };
  return openDirectoryStore(options, new AbortController().signal);
}
