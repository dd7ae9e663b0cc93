// Users' datasets among the datasets of the access service. They are not imported: a dataset is entered, with its owner as
// manager, when somebody first asks about it, and updated at each later question. The entry stays when the dataset is deleted,
// because requests and their history refer to it.

import type { CuratedId } from '../model/access-request.ts';
import type { Cause } from './access-people.ts';
import type { UserDataset } from './user-datasets.ts';

export interface EnteredDatasets {
  /** Writes nothing when nothing differs, or when the id is that of a curated dataset or of another owner's dataset. */
  enter(dataset: UserDataset, cause: Cause, signal: AbortSignal): Promise<void>;
  /** The dataset is gone: treat it as private, so that no request is approved by waiting. Does nothing to a curated dataset. */
  close(dataset: CuratedId, signal: AbortSignal): Promise<void>;
  /** At most 100 datasets with undecided requests, in order of their ids, after the given one. */
  undecided(after: CuratedId | undefined, signal: AbortSignal): Promise<readonly CuratedId[]>;
}
