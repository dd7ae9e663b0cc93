// Users' own datasets, as the dataset access service sees them.

import type { DatasetId } from '../model/ids.ts';
import type { StoredVisibility } from '../model/status.ts';
import type { GrantedDataset } from './grants.ts';

/** The values of the newest revision. */
export interface UserDataset extends GrantedDataset {
  readonly name: string;
  readonly summary: string;
  readonly visibility: StoredVisibility;
  /** Negative: only people decide requests. */
  readonly daysForApproval: number;
}

export interface UserDatasets {
  /** @param dataset the original or any revision of it; the result is undefined when none is live */
  find(dataset: DatasetId, signal: AbortSignal): Promise<UserDataset | undefined>;
}
