// Which revisions a dataset replaces, by its own metadata.

import type { DatasetId } from './ids.ts';
import type { DatasetMetadata } from './metadata.ts';
import { type DatasetAddress, objectKey, parseKey } from './object-key.ts';

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

function isDataset(at: DatasetAddress): boolean {
  const key = parseKey(objectKey(at, 'vdi-meta.json'));
  return typeof key === 'object' && key.kind === 'object' && key.dataset === at.dataset;
}
