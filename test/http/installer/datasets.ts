// Dataset records for the installer's tests.

import { type DatasetId, type TargetId, targetId, type UserId } from '../../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../../engine/model/metadata.ts';
import type { ListedDataset, ShareRecord, ViewedDataset } from '../../../engine/ports/dataset-queries.ts';
import { metadataFromDetails } from '../../../http/installer/metadata/stored-metadata.ts';
import { OWNER, soundDetails } from './installation.ts';

export const DATASET = '0000ABCD0000wxyz' as DatasetId;
export const CREATED = '2030-01-02T03:04:05.678Z';
export const FRIEND = '77' as UserId;
export const STRANGER = '88' as UserId;
export const TARGETS: readonly TargetId[] = ['PlainSite', 'GenomeSite'].map(targetId);

export function metadata(changes: Partial<DatasetMetadata> = {}): DatasetMetadata {
  const made = metadataFromDetails(soundDetails(), { owner: OWNER, created: CREATED });
  return { ...made, installTargets: TARGETS, ...changes };
}

export function share(recipient: UserId, granted: boolean, accepted: boolean): ShareRecord {
  return { recipient, granted, accepted };
}

export function listed(changes: Partial<ListedDataset> = {}): ListedDataset {
  return {
    owner: OWNER,
    dataset: DATASET,
    state: 'live',
    metadata: metadata(),
    upload: { status: 'success', message: undefined },
    import: { status: 'complete', messages: [] },
    installs: [],
    fileCount: 2,
    fileBytes: 30,
    bytes: 700,
    shares: [],
    ...changes,
  };
}

export function viewed(changes: Partial<ViewedDataset> = {}): ViewedDataset {
  const { fileCount: _count, fileBytes: _bytes, bytes: _size, ...record } = listed();
  return { ...record, sync: {}, newest: undefined, ...changes };
}
