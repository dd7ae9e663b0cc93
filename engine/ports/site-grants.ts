// Grants for users' datasets on their way to the sites, whose view shows a dataset to whoever has one (dataset-reading.ts).
// Changes are numbered in the order of their commits, so that a site that knows the number of the last change it has is told
// the rest. A site that is away, or is new, is told later.

import type { TargetId, UserId } from '../model/ids.ts';
import type { GrantedDataset } from './grants.ts';

export interface GrantChange extends GrantedDataset {
  readonly number: number;
  readonly user: UserId;
  /** Undefined when the grant is approved no longer. */
  readonly grant: { readonly begins: Date; readonly ends: Date | undefined } | undefined;
}

export interface GrantChanges {
  /** Differs for each database that numbers changes: numbers of another one mean nothing. */
  source(signal: AbortSignal): Promise<string>;
  /** In order of their numbers, at most 500. Of several changes of one grant only the last is there. */
  after(number: number, signal: AbortSignal): Promise<readonly GrantChange[]>;
}

export interface SiteGrants {
  readonly id: TargetId;
  /** The number of the last change that the site has of this source; grants of other sources are removed. */
  known(source: string, signal: AbortSignal): Promise<number>;
  /** All or none; none when somebody else told the site more than `after` meanwhile. */
  tell(source: string, after: number, changes: readonly GrantChange[], signal: AbortSignal): Promise<void>;
}

/** Of an installation without dataset access service: sites show nothing that was granted when there was one. */
export const NO_GRANT_CHANGES: GrantChanges = { source: async () => 'none', after: async () => [] };
