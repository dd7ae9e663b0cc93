// Grants by the dataset access service for users' own datasets.

import type { DatasetId, UserId } from '../model/ids.ts';

/** A grant covers a dataset and all its revisions. */
export interface GrantedDataset {
  /** The original; the others are its revisions. */
  readonly root: DatasetId;
  readonly owner: UserId;
}

export interface Grants {
  /** Whether the user's grant is approved, has started and has not expired. A curated dataset with the same id is ignored. */
  holds(user: UserId, dataset: GrantedDataset, now: Date, signal: AbortSignal): Promise<boolean>;
}

/** For an installation without dataset access service. */
export const NO_GRANTS: Grants = { holds: async () => false };
