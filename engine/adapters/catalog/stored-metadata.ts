// Reads metadata from the column that `serialiseMetadata` filled. This is a fast path. To keep the digits of user ids, the
// general parser calls a reviver for every value, which took a third of a listing's time. A document that we wrote contains
// only one user id, the owner, which the row also holds as text.

import type { DatasetId, UserId } from '../../model/ids.ts';
import { type DatasetMetadata, parseMetadata, type Revision } from '../../model/metadata.ts';

interface StoredDocument extends Omit<DatasetMetadata, 'owner' | 'revisionHistory'> {
  readonly owner: unknown;
  /** In stored documents, the list of revisions is named `revisionHistory`, too. */
  readonly revisionHistory?: { readonly originalId: DatasetId; readonly revisionHistory: readonly Revision[] };
}

/** `text` is the column cast to text. */
export function storedMetadata(dataset: DatasetId, owner: UserId, text: string): DatasetMetadata {
  const { revisionHistory, ...document } = JSON.parse(text) as StoredDocument;
  // A document of a compatible system may name another owner than its key in the store.
  if (document.owner !== Number(owner)) return parseMetadata(text, `metadata of dataset ${dataset} in the catalog`);
  return {
    ...document,
    owner,
    ...(revisionHistory && {
      revisionHistory: { originalId: revisionHistory.originalId, revisions: revisionHistory.revisionHistory },
    }),
  };
}
