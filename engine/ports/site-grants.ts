// Propagates grants for users' datasets to the sites, whose view shows a dataset to whoever has a grant (dataset-reading.ts).
// Changes are numbered in commit order, so a site that knows its last number gets the changes after it. A site that is
// unreachable, or new, gets them later.

import type { TargetId, UserId } from '../model/ids.ts';
import type { GrantedDataset } from './grants.ts';

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
