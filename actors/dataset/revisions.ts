// The earlier revisions of a dataset, and the flags that the dataset's changes put on them. Each revision is a dataset with its
// own objects and its own lease. So one revision only flags another; the flag's event triggers the rest.

import type { DatasetId } from '../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../engine/model/metadata.ts';
import { type DatasetAddress, type DatasetObject, objectKey, parseKey } from '../../engine/model/object-key.ts';
import type { DatasetRecord } from '../../engine/ports/catalog.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';

export type RevisionFlag = Extract<DatasetObject, 'delete-flag' | 'revised-flag'>;

/**
 * Older revisions of the dataset, newest first: those that its history lists before it, and the original. If the history does
 * not list the dataset, all that it lists. Never the dataset itself.
 */
export function olderRevisions(metadata: DatasetMetadata, dataset: DatasetId): readonly DatasetId[] {
  const history = metadata.revisionHistory;
  if (!history) return [];
  const listed = history.revisions.map((revision) => revision.revisionId);
  const own = listed.lastIndexOf(dataset);
  const before = own < 0 ? listed : listed.slice(0, own);
  const older = new Set([history.originalId, ...before]);
  older.delete(dataset);
  // Documents of other systems may list values that are not valid ids and so name no dataset.
  return [...older].reverse().filter((id) => isDataset({ owner: metadata.owner, dataset: id }));
}

/**
 * Puts the (empty) flag on every older revision that has metadata and does not have the flag, newest first. Returns the
 * revisions that were flagged. Idempotent.
 */
export async function flagOlder(
  store: ObjectStore,
  record: Pick<DatasetRecord, 'owner' | 'dataset' | 'metadata'>,
  flag: RevisionFlag,
  signal: AbortSignal,
): Promise<readonly DatasetId[]> {
  const flagged: DatasetId[] = [];
  for (const dataset of olderRevisions(record.metadata, record.dataset)) {
    const at = { owner: record.owner, dataset };
    const key = objectKey(at, flag);
    if (await store.head(key, signal)) continue;
    if (!(await store.head(objectKey(at, 'vdi-meta.json'), signal))) continue;
    await store.put(key, new Uint8Array(), {}, signal);
    flagged.push(dataset);
  }
  return flagged;
}

function isDataset(at: DatasetAddress): boolean {
  const key = parseKey(objectKey(at, 'vdi-meta.json'));
  return typeof key === 'object' && key.kind === 'object' && key.dataset === at.dataset;
}
