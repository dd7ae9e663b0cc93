// What failed for good and waits for a person: dead jobs, failed uploads and imports, failed installs. Each can be retried or
// discarded, one by one or all that match a filter.
//
//   listed --retry-->    its job is queued, as if it had never run; listed again only if it fails again
//   listed --discard-->  not listed, and not requested again by the reconciler or the pruner. A new request for that lane of the
//                        dataset ends this: an upload, an edit, an administrator's retry
//
// Delayed jobs are still retried by themselves. They are listed when the filter asks for them, and can be retried at once.

import { LANES, type LaneName } from '../model/event.ts';
import type { DatasetId, TargetId, UserId } from '../model/ids.ts';

/**
 *   dead     the job has used its attempts       failed   the job ended; the status of the upload or import says so
 *   failed-installation, missing-dependency      the status of an install on one target
 *   delayed  the job will be retried by itself
 */
export const PROBLEM_STATES = ['dead', 'failed', 'failed-installation', 'missing-dependency', 'delayed'] as const;
export type ProblemState = (typeof PROBLEM_STATES)[number];

/** Services that have jobs of their own, in databases of their own: report jobs, and mails of dataset access. */
export const SERVICE_LANES = ['report', 'mail'] as const;
export type ServiceLane = (typeof SERVICE_LANES)[number];
export const PROBLEM_LANES = [...LANES, ...SERVICE_LANES] as const;
export type ProblemLane = (typeof PROBLEM_LANES)[number];

/** Names a problem of a dataset for as long as it lasts. Printed as `lane:dataset`, or `lane:dataset:target`. */
export interface ProblemKey {
  readonly lane: LaneName;
  readonly dataset: DatasetId;
  /** Of an install: lane install for the data, updateMeta for the metadata. */
  readonly target: TargetId | undefined;
}

/** Of a dataset, as {@link ProblemKey} says; or of a service, as its id says: `report:ID`, `mail:ID`. */
export interface Problem {
  readonly id: string;
  readonly lane: ProblemLane;
  readonly dataset: DatasetId | undefined;
  readonly target: TargetId | undefined;
  readonly owner: UserId | undefined;
  /** `name:version` (engine/model/data-types.ts); undefined when the catalog did not know the dataset. */
  readonly type: string | undefined;
  readonly state: ProblemState;
  readonly message: string;
  /** The message without what differs between problems of one cause: ids, numbers, paths, quoted values. */
  readonly cause: string;
  readonly since: Date;
}

/** Absent fields do not filter. Without ids and state, delayed jobs are left out. */
export interface ProblemFilter {
  readonly ids?: readonly string[];
  readonly lane?: ProblemLane;
  readonly state?: ProblemState;
  /** Any of these. */
  readonly types?: readonly string[];
  readonly target?: string;
  readonly owner?: UserId;
  readonly dataset?: DatasetId;
  /** Ignoring case. */
  readonly contains?: string;
  readonly cause?: string;
  /** Since then or later, and since before then. */
  readonly from?: Date;
  readonly before?: Date;
}

/**
 * Where a page of a listing ends. `until`: what failed after the first page was read is not in the listing. Times are whole
 * microseconds since 1970.
 */
export interface ProblemPlace {
  /** Which list, of several that follow one another; absent = the first. */
  readonly list?: number;
  readonly until: string;
  readonly since: string;
  readonly id: string;
}

export interface ProblemPage {
  /** The oldest first. */
  readonly problems: readonly Problem[];
  /** Undefined after the last page. */
  readonly next: ProblemPlace | undefined;
}

export interface ProblemCause {
  readonly cause: string;
  readonly lane: ProblemLane;
  readonly state: ProblemState;
  readonly count: number;
  readonly oldest: Date;
  readonly newest: Date;
  readonly example: { readonly id: string; readonly message: string };
}

/** Why a problem is left as it is. */
export const PROBLEM_SKIPS = [
  /** A lane works on the dataset, or somebody else changes it at this moment. */
  'busy',
  /** It is not failed, or not any more. */
  'not-failed',
  /** It is delayed: it cannot be discarded, because it is still being retried. */
  'delayed',
  /** The files of the upload are gone, so there is nothing to retry. */
  'files-gone',
  /** The install target is disabled or unknown. */
  'target-disabled',
  /** The install target does not answer. */
  'target-away',
  /** It could not be dealt with; the log says why. */
  'error',
] as const;
export type ProblemSkip = (typeof PROBLEM_SKIPS)[number];

export interface DiscardNote {
  /** Who, for other operators. */
  readonly by: string;
  readonly reason: string;
}

export interface Discard extends ProblemKey, DiscardNote {
  readonly at: Date;
  readonly message: string;
}

/** `done`, or why not. One per key, in their order. */
export type ProblemOutcome = 'done' | ProblemSkip;

export interface ProblemList {
  page(
    filter: ProblemFilter,
    page: { readonly limit: number; readonly after?: ProblemPlace },
    signal: AbortSignal,
  ): Promise<ProblemPage>;
  /** The causes with the most problems, up to `limit`. */
  causes(filter: ProblemFilter, limit: number, signal: AbortSignal): Promise<readonly ProblemCause[]>;
  /** How many match, by lane; lanes without any are absent. */
  counts(filter: ProblemFilter, signal: AbortSignal): Promise<ReadonlyMap<ProblemLane, number>>;
}

export interface Problems extends ProblemList {
  /**
   * Queues the jobs of uploads, imports and whole lanes, with all their attempts, and wakes the lanes; all in one transaction.
   * Not for installs on one target, which have a status on the target (actors/daemons/clear-dataset.ts).
   */
  retry(keys: readonly ProblemKey[], eventId: number, signal: AbortSignal): Promise<readonly ProblemOutcome[]>;
  /** All in one transaction. */
  discard(keys: readonly ProblemKey[], note: DiscardNote, signal: AbortSignal): Promise<readonly ProblemOutcome[]>;
  /** What is discarded of the dataset, the newest first. */
  discards(dataset: DatasetId, signal: AbortSignal): Promise<readonly Discard[]>;
}

/**
 * `asked-before`: the owner has had this step repeated, and it has failed again. `not-theirs`: an operator has stopped or
 * discarded it, or the data were at fault.
 */
export type OwnerRetry = 'done' | 'asked-before' | 'not-failed' | 'not-theirs' | 'busy' | 'files-gone';

export interface OwnerRetries {
  /** Queues the failed upload or import of a live dataset once more, once until an administrator retries it. */
  retryOnce(dataset: DatasetId, eventId: number, signal: AbortSignal): Promise<OwnerRetry>;
}

/** All problems that match, the oldest first, up to `limit`. */
export interface ProblemOrder {
  readonly filter: ProblemFilter;
  /** Where an earlier order with the same filter ended. */
  readonly after?: ProblemPlace;
  readonly limit: number;
}

interface ProblemTally {
  readonly lane: ProblemLane;
  readonly problems: number;
  /** How many were retried or discarded. */
  readonly done: number;
  readonly skipped: Readonly<Partial<Record<ProblemSkip, number>>>;
}

export interface ProblemReport {
  /** Lanes without a problem are absent. */
  readonly lanes: readonly ProblemTally[];
  /** Where the next order begins; undefined when there are no more. */
  readonly next: ProblemPlace | undefined;
}

/** What failed for good in a service. Both change only what is still failed, and may be repeated. */
export interface ServiceProblems extends ProblemList {
  retry(ids: readonly string[], signal: AbortSignal): Promise<readonly ProblemOutcome[]>;
  discard(ids: readonly string[], signal: AbortSignal): Promise<readonly ProblemOutcome[]>;
}

/**
 * Follows the orders of operators, batch by batch. Each batch is one transaction, so an order that was interrupted has done
 * whole batches, and can be repeated.
 */
export interface SecondChances extends ProblemList {
  retry(order: ProblemOrder, signal: AbortSignal): Promise<ProblemReport>;
  discard(order: ProblemOrder, note: DiscardNote, signal: AbortSignal): Promise<ProblemReport>;
}
