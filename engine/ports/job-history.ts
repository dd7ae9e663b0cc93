// What was tried with each dataset, when, by which process, and how it ended. The step that ends an attempt writes its row
// (`Jobs.completeAndFetch`), so each attempt that did something, or failed, has exactly one. If attempts wait for the same reason
// one after another, only the first has a row. If the process died, the next claim of the job writes the row. Rows outlive their
// job and their dataset. They are removed by age, and only the newest 1,000 of a dataset are kept.

import type { LaneName } from '../model/event.ts';
import type { DatasetId, TargetId } from '../model/ids.ts';

/**
 * How an attempt ended, as recorded by the process that ran it:
 *   done, invalid, failed   the job is over; invalid: the fault is in the user's data
 *   retry, paused           it runs again later; paused: once the pause is over
 *   returned, crashed       it went back to the queue: the process shut down or lost the lease; its thread died
 *   dead, cancelled         it runs again only when an operator retries it; cancelled: an operator ended it
 */
const ATTEMPT_OUTCOMES = [
  ...['done', 'invalid', 'failed', 'retry', 'paused', 'returned', 'crashed', 'dead', 'cancelled'],
] as const;
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

/**
 *   process-died, lease-lost   no process recorded the end of the attempt; found when the job was claimed again
 *   retried, discarded         a delayed or dead job was put back into the queue, or removed
 */
export const HISTORY_OUTCOMES = [
  ...ATTEMPT_OUTCOMES,
  ...['process-died', 'lease-lost', 'retried', 'discarded'],
] as const;
export type HistoryOutcome = (typeof HISTORY_OUTCOMES)[number];

/** A call of a plugin, or another task, in an attempt. */
export interface AttemptCall {
  /** Such as `install-data`. */
  readonly call: string;
  readonly plugin?: string;
  readonly target?: TargetId;
  readonly ms: number;
  /** The kind of the reply, such as `success`, or `error` when there was none. */
  readonly outcome: string;
  /** For operators. */
  readonly message?: string;
  readonly exitCode?: number;
  /** The end of what the script printed. */
  readonly output?: string;
}

export interface Attempt {
  /** 1 for the first. An attempt that only waited does not count: the next one has the same number. */
  readonly attempt?: number;
  readonly ms?: number;
  /** For operators. */
  readonly message?: string;
  readonly calls?: readonly AttemptCall[];
}

/** What a process records about an attempt. */
export interface AttemptRecord extends Attempt {
  readonly outcome: AttemptOutcome;
}

export interface HistoryProcess {
  /** Of the process instance. */
  readonly instance: number;
  readonly host: string;
  readonly pid: number;
  readonly started: Date;
}

export interface HistoryEntry extends Attempt {
  /** The end, in ms since 1970. */
  readonly at: number;
  readonly number: number;
  readonly lane: LaneName;
  readonly job: number;
  readonly eventId: number;
  readonly outcome: HistoryOutcome;
  /** The one that ran the attempt; absent for an order of an operator. */
  readonly process?: HistoryProcess;
}

/** Newer entries of a dataset have higher places. */
export type HistoryPlace = Pick<HistoryEntry, 'at' | 'number'>;

export interface HistoryPageOptions {
  /** Maximum number of entries; a page also ends at 256 KiB. */
  readonly limit: number;
  readonly order: 'newest-first' | 'oldest-first';
  /** Starts after this place, in the page's order. */
  readonly after?: HistoryPlace;
}

export interface HistoryPage {
  readonly entries: readonly HistoryEntry[];
  /** Where the next page begins; absent when nothing is left. */
  readonly next?: HistoryPlace;
}

export interface JobHistory {
  page(dataset: DatasetId, options: HistoryPageOptions, signal: AbortSignal): Promise<HistoryPage>;
  /** Removes the entries that ended before that time, in ms since 1970. Returns how many. */
  dropBefore(at: number, signal: AbortSignal): Promise<number>;
}
