// Grants by the dataset access service for users' own datasets, and their propagation to the sites. A site's view shows a
// dataset to whoever has a grant (engine/model/status.ts). Changes are numbered in commit order, so a site that knows
// its last number gets the changes after it. A site that is new or was unreachable gets them later.

import type { DatasetId, TargetId, UserId } from '../model/ids.ts';

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

export interface GrantChange extends GrantedDataset {
  readonly number: number;
  readonly user: UserId;
  /** Undefined when the grant is no longer approved. */
  readonly grant: { readonly begins: Date; readonly ends: Date | undefined } | undefined;
}

export interface GrantChanges {
  /** Identifies the database that numbers the changes; numbers of another database mean nothing here. */
  source(signal: AbortSignal): Promise<string>;
  /** In order of their numbers, at most 500. Of several changes of one grant only the last is returned. */
  after(number: number, signal: AbortSignal): Promise<readonly GrantChange[]>;
}

export interface SiteGrants {
  readonly id: TargetId;
  /** The number of the last change of this source that the site has; grants of other sources are removed. */
  known(source: string, signal: AbortSignal): Promise<number>;
  /** Writes all changes or none; none when another process has meanwhile written changes beyond `after`. */
  tell(source: string, after: number, changes: readonly GrantChange[], signal: AbortSignal): Promise<void>;
}

/** For an installation without dataset access service: sites show nothing that was granted while there was one. */
export const NO_GRANT_CHANGES: GrantChanges = { source: async () => 'none', after: async () => [] };
