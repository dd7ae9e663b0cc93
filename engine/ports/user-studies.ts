// Users' own datasets that are installed on at least one target, as studies.

import type { DatasetId, UserId } from '../model/ids.ts';

export interface UserStudy {
  readonly datasetId: DatasetId;
  readonly name: string;
  readonly summary: string;
  /** What the user has to do with it; `public` when nothing but that all may see it, undefined when not even that. */
  readonly part: 'owner' | 'recipient' | 'public' | undefined;
}

export interface UserStudies {
  /** Owned by the user or shared with the user, newest first; at most 10,000. */
  own(user: UserId, signal: AbortSignal): Promise<readonly UserStudy[]>;
  /** @param user undefined for somebody who can own nothing and be shared nothing */
  find(dataset: DatasetId, user: UserId | undefined, signal: AbortSignal): Promise<UserStudy | undefined>;
}
