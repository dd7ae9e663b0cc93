// How the directory store announces its changes so that a crash loses none: a change is noted before it is made, and released
// afterwards (docs/design/decisions.md#embedded-stack).

import type { ObjectChange } from '../../model/event.ts';

export interface JournalEntry {
  readonly change: ObjectChange;
  /** Etag that the object will have once the change is made; undefined for removals. */
  readonly etag: string | undefined;
}

export interface PendingEntry extends JournalEntry {
  readonly id: number;
}

export interface ChangeJournal {
  /** Commits the entries as pending and returns their ids, in order. */
  note(entries: readonly JournalEntry[], signal: AbortSignal): Promise<readonly number[]>;
  /** The changes were made: deliver them to the consumer. */
  release(ids: readonly number[], signal: AbortSignal): Promise<void>;
  /** The changes were not made: discard them. */
  drop(ids: readonly number[], signal: AbortSignal): Promise<void>;
  /** Pending entries of dead processes; the caller releases or drops each. At most 1,000 per call. */
  orphans(signal: AbortSignal): Promise<readonly PendingEntry[]>;
}
