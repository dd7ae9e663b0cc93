// The revision history as responses show it: always there, beginning with the creation of the original.

import type { DatasetId } from '../../../engine/model/ids.ts';
import type { DatasetMetadata, Revision } from '../../../engine/model/metadata.ts';
import type { RevisionHistory } from '../schema/dataset-details.ts';

/** The contract asks for notes of 10 characters or more; this one is ours. */
const FIRST_NOTE = 'Initial upload';

/** The history with its first entry, which is not stored until there is a second one. */
export function wholeHistory(
  dataset: DatasetId,
  metadata: DatasetMetadata,
): NonNullable<DatasetMetadata['revisionHistory']> {
  const originalId = metadata.revisionHistory?.originalId ?? dataset;
  const stored = metadata.revisionHistory?.revisions ?? [];
  const first: Revision = {
    action: 'create',
    timestamp: metadata.created,
    revisionId: originalId,
    revisionNote: FIRST_NOTE,
  };
  return { originalId, revisions: stored[0]?.action === 'create' ? stored : [first, ...stored] };
}

/** @param baseUrl where the API is served, without a trailing slash */
export function revisionHistoryView(dataset: DatasetId, metadata: DatasetMetadata, baseUrl: string): RevisionHistory {
  const { originalId, revisions } = wholeHistory(dataset, metadata);
  return {
    originalId,
    revisions: revisions.map((revision) => ({
      ...revision,
      fileListUrl: `${baseUrl}/datasets/${revision.revisionId}/files`,
    })),
  };
}
