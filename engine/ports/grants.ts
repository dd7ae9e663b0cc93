// Grants that the dataset access service gave for users' own datasets.

import type { DatasetId, UserId } from '../model/ids.ts';

/** A grant is for a dataset with all its revisions. */
export interface GrantedDataset {
  /** The original, of which the others are revisions. */
  readonly root: DatasetId;
  readonly owner: UserId;
}

export interface Grants {
  /** Whether the user's grant is approved, has begun and is not over. A curated dataset of the same id counts for nothing. */
  holds(user: UserId, dataset: GrantedDataset, now: Date, signal: AbortSignal): Promise<boolean>;
}

/** Of an installation without dataset access service. */
export const NO_GRANTS: Grants = { holds: async () => false };
