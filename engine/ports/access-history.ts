// What was changed about access requests, by whom. Nothing here writes: the rows come with the changes.

import type { CuratedId, SettledTerms } from '../model/access-request.ts';
import type { UserId } from '../model/ids.ts';
import type { PageRequest } from './access-people.ts';

export interface HistoryEntry {
  readonly cause: UserId | '0';
  readonly action: 'CREATE' | 'UPDATE' | 'DELETE';
  readonly at: Date;
  readonly endUserId: number;
  readonly userId: UserId;
  readonly datasetId: CuratedId;
  /** After the change; of what was removed, before it. */
  readonly terms: Omit<SettledTerms, 'requestedAt'>;
}

export interface HistoryPage {
  /** Entries of the page. */
  readonly rows: number;
  /** Batch by batch, to be read once; a batch is bounded in bytes. */
  readonly items: AsyncIterable<readonly HistoryEntry[]>;
}

export interface AccessHistory {
  /** Newest first; all of them, or those of datasets that the user manages. */
  list(of: 'all' | { readonly managedBy: UserId }, page: PageRequest, signal: AbortSignal): Promise<HistoryPage>;
}
