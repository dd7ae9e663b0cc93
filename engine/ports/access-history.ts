// The history of access requests: what was changed and by whom. Read-only: the changes themselves write the rows.

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
  /** After the change; for a removal, before it. */
  readonly terms: Omit<SettledTerms, 'requestedAt'>;
}

export interface HistoryPage {
  /** Entries of the page. */
  readonly rows: number;
  /** In batches of bounded bytes; can be read once. */
  readonly items: AsyncIterable<readonly HistoryEntry[]>;
}

export interface AccessHistory {
  /** Newest first; all entries, or those of datasets that the user manages. */
  list(of: 'all' | { readonly managedBy: UserId }, page: PageRequest, signal: AbortSignal): Promise<HistoryPage>;
}
