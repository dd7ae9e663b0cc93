// What makes a dataset the next revision of another: its id, and its history.

import { type DatasetId, revisionOf, rootOf, type UserId } from '../../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../../engine/model/metadata.ts';
import { objectKey } from '../../../engine/model/object-key.ts';
import type { DatasetRecord } from '../../../engine/ports/catalog.ts';
import type { ObjectStore } from '../../../engine/ports/object-store.ts';
import { wholeHistory } from '../views/revision-history.ts';
import type { RevisionBase } from './revision-base.ts';

/** The number after the highest that any revision has; numbers whose objects are in the store are passed over. */
export async function nextRevisionId(
  { newest, highestNumber }: RevisionBase,
  store: Pick<ObjectStore, 'head'>,
  signal: AbortSignal,
): Promise<DatasetId> {
  const root = newest.metadata.revisionHistory?.originalId ?? rootOf(newest.dataset);
  for (let n = highestNumber + 1; ; n++) {
    const dataset = revisionOf(root, n);
    if (!(await isTaken(newest.owner, dataset, store, signal))) return dataset;
  }
}

/** The history of the newest revision and one entry more. */
export function nextHistory(
  newest: Pick<DatasetRecord, 'dataset' | 'metadata'>,
  revision: { readonly dataset: DatasetId; readonly note: string; readonly now: Date },
): NonNullable<DatasetMetadata['revisionHistory']> {
  const { originalId, revisions } = wholeHistory(rootOf(newest.dataset), newest.metadata);
  const { dataset: revisionId, note: revisionNote, now } = revision;
  return {
    originalId,
    revisions: [...revisions, { action: 'revise', timestamp: now.toISOString(), revisionId, revisionNote }],
  };
}

/** A dataset that the cache has lost is still a dataset. */
async function isTaken(
  owner: UserId,
  dataset: DatasetId,
  store: Pick<ObjectStore, 'head'>,
  signal: AbortSignal,
): Promise<boolean> {
  for (const object of ['import-ready.zip', 'vdi-meta.json'] as const)
    if (await store.head(objectKey({ owner, dataset }, object), signal)) return true;
  return false;
}
