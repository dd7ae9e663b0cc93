// The revisions of a dataset that came before it, and the flags that what happens to it puts on them. Each revision is a
// dataset with objects and a lease of its own, so a flag is all that one says to another: its event does the rest.

import type { DatasetId } from '../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../engine/model/metadata.ts';
import { type DatasetAddress, type DatasetObject, objectKey, parseKey } from '../../engine/model/object-key.ts';
import type { DatasetRecord } from '../../engine/ports/catalog.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';

export type RevisionFlag = Extract<DatasetObject, 'delete-flag' | 'revised-flag'>;

/**
 * Older revisions of the dataset, newest first: what its history lists before it, or all that it lists when the dataset is
 * not in it, and the original. Never the dataset itself.
 */
export function olderRevisions(metadata: DatasetMetadata, dataset: DatasetId): readonly DatasetId[] {
  const history = metadata.revisionHistory;
  if (!history) return [];
  const listed = history.revisions.map((revision) => revision.revisionId);
  const own = listed.lastIndexOf(dataset);
  const before = own < 0 ? listed : listed.slice(0, own);
  const older = new Set([history.originalId, ...before]);
  older.delete(dataset);
  // Documents of other systems may name what is no id, and so no dataset.
  return [...older].reverse().filter((id) => isDataset({ owner: metadata.owner, dataset: id }));
}

/**
 * Puts the flag, which is empty, on every older revision whose metadata exist and that has none, newest first.
 * Returns those that got it. Safe to repeat.
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
