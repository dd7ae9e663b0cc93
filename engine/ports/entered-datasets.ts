// Users' datasets among the datasets of the access service. Nobody imports them: one is entered when somebody first asks
// about it, with its owner as manager, and brought up to date whenever somebody does. What is entered stays when the
// dataset goes: requests and their history are of it.

import type { CuratedId } from '../model/access-request.ts';
import type { Cause } from './access-people.ts';
import type { UserDataset } from './user-datasets.ts';

export interface EnteredDatasets {
  /** Writes nothing when nothing differs, nor when the id is that of a curated dataset, or of another owner's. */
  enter(dataset: UserDataset, cause: Cause, signal: AbortSignal): Promise<void>;
  /** The dataset is gone: as private, so that nothing is approved by waiting. Nothing happens to a curated one. */
  close(dataset: CuratedId, signal: AbortSignal): Promise<void>;
  /** Those with requests that are undecided, in order of their ids, after the given one; at most 100. */
  undecided(after: CuratedId | undefined, signal: AbortSignal): Promise<readonly CuratedId[]>;
}
