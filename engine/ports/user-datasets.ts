// Users' own datasets as the dataset access service asks about them.

import type { DatasetId } from '../model/ids.ts';
import type { StoredVisibility } from '../model/status.ts';
import type { GrantedDataset } from './grants.ts';

/** The newest revision speaks for all. */
export interface UserDataset extends GrantedDataset {
  readonly name: string;
  readonly summary: string;
  readonly visibility: StoredVisibility;
  /** Negative: requests are decided by people only. */
  readonly daysForApproval: number;
}

export interface UserDatasets {
  /** @param dataset the original or any revision of it; undefined when none is live */
  find(dataset: DatasetId, signal: AbortSignal): Promise<UserDataset | undefined>;
}
