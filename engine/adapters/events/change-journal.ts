// How the directory store announces its changes so that a crash loses none: a change is noted before it is made and
// released after (docs/design/decisions.md#embedded-stack).

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
  /** The changes were made: hand them to the consumer. */
  release(ids: readonly number[], signal: AbortSignal): Promise<void>;
  /** The changes were not made: forget them. */
  drop(ids: readonly number[], signal: AbortSignal): Promise<void>;
  /** Pending entries of processes that are dead; each is then released or dropped. At most 1,000 a call. */
  orphans(signal: AbortSignal): Promise<readonly PendingEntry[]>;
}
