// Reads metadata back from the column that `serialiseMetadata` filled. A fast path: the general reader revives every
// value of the document to keep the digits of user ids, which made up a third of a listing's time. Here the document is
// known to be ours and to hold one user id, the owner, which the row repeats as text.

import type { DatasetId, UserId } from '../../model/ids.ts';
import { type DatasetMetadata, parseMetadata, type Revision } from '../../model/metadata.ts';

interface StoredDocument extends Omit<DatasetMetadata, 'owner' | 'revisionHistory'> {
  readonly owner: unknown;
  /** In stored documents the list inside the history carries the history's own name. */
  readonly revisionHistory?: { readonly originalId: DatasetId; readonly revisionHistory: readonly Revision[] };
}

/** `text` is the column cast to text. */
export function storedMetadata(dataset: DatasetId, owner: UserId, text: string): DatasetMetadata {
  const { revisionHistory, ...document } = JSON.parse(text) as StoredDocument;
  // The document of a foreign system may name another owner than its place in the store.
  if (document.owner !== Number(owner)) return parseMetadata(text, `metadata of dataset ${dataset} in the catalog`);
  return {
    ...document,
    owner,
    ...(revisionHistory && {
      revisionHistory: { originalId: revisionHistory.originalId, revisions: revisionHistory.revisionHistory },
    }),
  };
}
