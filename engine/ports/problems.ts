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
 *   dead                                      a job has used its attempts, or was cancelled
 *   failed                                    an upload or import failed, and the dataset's status says so
 *   failed-installation, missing-dependency   the status of an install on one target
 *   delayed                                   the job will be retried by itself
 */
export const PROBLEM_STATES = ['dead', 'failed', 'failed-installation', 'missing-dependency', 'delayed'] as const;
export type ProblemState = (typeof PROBLEM_STATES)[number];

/** Services that have jobs of their own, in databases of their own: report jobs, and mails of dataset access. */
export const SERVICE_LANES = ['report', 'mail'] as const;
export type ServiceLane = (typeof SERVICE_LANES)[number];
export const PROBLEM_LANES = [...LANES, ...SERVICE_LANES] as const;
export type ProblemLane = (typeof PROBLEM_LANES)[number];

/** The lists in the order in which they follow one another. A process has those of its services. */
export const PROBLEM_LISTS = ['datasets', ...SERVICE_LANES] as const;
export type ProblemListName = (typeof PROBLEM_LISTS)[number];

/** Names a problem of a dataset for as long as it lasts. Printed as `lane:dataset`, or `lane:dataset:target`. */
export interface ProblemKey {
  readonly lane: LaneName;
  readonly dataset: DatasetId;
  /** Of an install: lane install for the data, updateMeta for the metadata. */
  readonly target: TargetId | undefined;
}

/** A problem of a dataset ({@link ProblemKey}), or of a service: its id is then `report:ID` or `mail:ID`. */
export interface Problem {
  readonly id: string;
  readonly lane: ProblemLane;
  readonly dataset: DatasetId | undefined;
  readonly target: TargetId | undefined;
  readonly owner: UserId | undefined;
  /** `name:version` (engine/model/data-types.ts); undefined when the catalog did not know the dataset. */
  readonly type: string | undefined;
  /** Of the dataset; undefined when the catalog does not know it. */
  readonly name: string | undefined;
  readonly state: ProblemState;
  readonly message: string;
  /** The message without ids, numbers, paths and quoted values, which differ between problems of one cause. */
  readonly cause: string;
  readonly since: Date;
}

/** Absent fields do not filter. Without ids and state, delayed jobs are left out. */
export interface ProblemFilter {
  readonly ids?: readonly string[];
  readonly lane?: ProblemLane;
  readonly state?: ProblemState;
  /** One of these, as in {@link Problem.type}; a name without a version stands for all its versions. */
  readonly types?: readonly string[];
  readonly target?: string;
  readonly owner?: UserId;
  readonly dataset?: DatasetId;
  /** Part of the message, in any case. */
  readonly contains?: string;
  readonly cause?: string;
  /** Bounds of `since`: `from` is inclusive, `before` exclusive. */
  readonly from?: Date;
  readonly before?: Date;
}

/**
 * Where a page of a listing ends. Times are whole microseconds since 1970. The listing has nothing that failed after `until`, the
 * time of its first page.
 */
export interface ProblemPlace {
  /** Where several lists follow one another: in which one. Absent = the first. */
  readonly list?: ProblemListName;
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

/** Why a problem was skipped. */
export const PROBLEM_SKIPS = [
  /** A lane is working on the dataset, or somebody else is changing it. */
  'busy',
  /** It has not failed, or no longer counts as failed. */
  'not-failed',
  /** It cannot be discarded, because it is still retried by itself. */
  'delayed',
  /** The files of the upload are gone, so there is nothing to retry. */
  'files-gone',
  /** The install target is disabled or unknown. */
  'target-disabled',
  /** The install target does not respond. */
  'target-away',
  /** Handling it failed; the log says why. */
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

/** `done`, or why the problem was skipped. Results are in the order of the keys. */
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
   * Queues the jobs with all their attempts, and wakes the lanes; all in one transaction. Not for keys with a target, because
   * those installs also have a status on the target (actors/daemons/clear-dataset.ts).
   */
  retry(keys: readonly ProblemKey[], eventId: number, signal: AbortSignal): Promise<readonly ProblemOutcome[]>;
  /** All in one transaction. */
  discard(keys: readonly ProblemKey[], note: DiscardNote, signal: AbortSignal): Promise<readonly ProblemOutcome[]>;
  /** The discards of the dataset that are in force, newest first. */
  discards(dataset: DatasetId, signal: AbortSignal): Promise<readonly Discard[]>;
}

/**
 * `asked-before`: the owner has retried this step, and it failed again. `not-theirs`: an operator has cancelled or discarded it,
 * or the data were at fault.
 */
export type OwnerRetry = 'done' | 'asked-before' | 'not-failed' | 'not-theirs' | 'busy' | 'files-gone';

export interface OwnerRetries {
  /** Queues the failed upload or import of a live dataset again. Works once, until an administrator retries the step. */
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

/** Problems of one service. Both calls change only what still counts as failed, and may be repeated. */
export interface ServiceProblems extends ProblemList {
  retry(ids: readonly string[], signal: AbortSignal): Promise<readonly ProblemOutcome[]>;
  discard(ids: readonly string[], signal: AbortSignal): Promise<readonly ProblemOutcome[]>;
}

/** Executes orders of operators in batches. Each batch is one transaction, so an interrupted order can simply be repeated. */
export interface SecondChances extends ProblemList {
  retry(order: ProblemOrder, signal: AbortSignal): Promise<ProblemReport>;
  discard(order: ProblemOrder, note: DiscardNote, signal: AbortSignal): Promise<ProblemReport>;
}
