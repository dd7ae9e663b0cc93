// Users' own datasets that are installed on at least one target, presented as studies.

import type { DatasetId, UserId } from '../model/ids.ts';
import type { StoredVisibility } from '../model/status.ts';

export interface UserStudy {
  readonly datasetId: DatasetId;
  /** The original; this is its newest revision. */
  readonly root: DatasetId;
  readonly owner: UserId;
  readonly visibility: StoredVisibility;
  readonly name: string;
  readonly summary: string;
  /** Owner, or recipient of an accepted share; undefined for everybody else. */
  readonly part: 'owner' | 'recipient' | undefined;
}

export interface UserStudies {
  /** Owned by the user or shared with the user, newest first; at most 10,000, in batches of bounded bytes. */
  own(user: UserId, signal: AbortSignal): AsyncIterable<readonly UserStudy[]>;
  /** The originals of the datasets that {@link own} lists, for callers that cannot wait for its end. */
  ownRoots(user: UserId, signal: AbortSignal): Promise<readonly DatasetId[]>;
  /**
   * The newest revisions of these originals (at most 1,000), whatever the user's relation to them; in no order, in batches of
   * bounded bytes.
   */
  newest(roots: readonly DatasetId[], user: UserId, signal: AbortSignal): AsyncIterable<readonly UserStudy[]>;
  /** @param user undefined for somebody who can neither own datasets nor receive shares */
  find(dataset: DatasetId, user: UserId | undefined, signal: AbortSignal): Promise<UserStudy | undefined>;
}
