// The stored audit trail. Rows are appended, read and, once old enough, dropped by whole weeks. No row is ever changed.

import type { AuditEntry, AuditKind, AuditOutcome, AuditPlace, AuditRow } from '../model/audit.ts';

export interface AuditFilter {
  /** `from` is inclusive, `to` exclusive; ms since 1970. */
  readonly from?: number;
  readonly to?: number;
  readonly kind?: AuditKind;
  /** Id of a user, or name of a machine's token. */
  readonly actor?: string;
  readonly dataset?: string;
  readonly route?: string;
  readonly outcome?: AuditOutcome;
}

export interface AuditPageOptions {
  /** Maximum number of rows; a page also ends at 256 KiB. */
  readonly limit: number;
  readonly order: 'newest-first' | 'oldest-first';
  /** Starts after this place, in the page's order. */
  readonly after?: AuditPlace;
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** Where the next page begins; absent when nothing is left. */
  readonly next?: AuditPlace;
}

export interface AuditLog {
  /** All of them or none; durable when it resolves. */
  append(rows: readonly AuditRow[], signal: AbortSignal): Promise<void>;
  page(filter: AuditFilter, options: AuditPageOptions, signal: AbortSignal): Promise<AuditPage>;
  /** Drops the weeks (Monday to Sunday, UTC) that had ended by then; returns how many. */
  dropBefore(at: number, signal: AbortSignal): Promise<number>;
}
