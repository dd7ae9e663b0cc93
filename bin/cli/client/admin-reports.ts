// Responses to administrators, as far as commands read them.

import type { LaneName } from '../../../engine/model/event.ts';
import type { JobState } from '../../../engine/ports/jobs.ts';
import type { PauseKind } from '../../../engine/ports/pauses.ts';
import type { ProblemLane, ProblemState } from '../../../engine/ports/problems.ts';

export interface ReportedLane {
  readonly lane: LaneName;
  readonly queued: number;
  readonly running: number;
  readonly delayed: number;
  readonly dead: number;
  readonly oldestSeconds: number;
}

export interface ReportedJob {
  readonly id: number;
  readonly lane: LaneName;
  readonly datasetId: string;
  /** Decimal text, because it may exceed 2^53. */
  readonly owner: string;
  readonly state: JobState;
  readonly attempts: number;
  readonly eventId: number;
  readonly message?: string;
  readonly runAt?: string;
  readonly created: string;
}

export interface JobsReport {
  readonly meta: { readonly count: number; readonly offset: number; readonly limit: number; readonly total: number };
  readonly lanes: readonly ReportedLane[];
  readonly results: readonly ReportedJob[];
}

/** Averages by series, oldest first; null where nothing was sampled. */
export interface ReportedHistory {
  readonly step: number;
  readonly series: Readonly<Record<string, readonly (number | null)[]>>;
}

export interface ReportedCall {
  readonly call: string;
  readonly plugin?: string;
  readonly target?: string;
  readonly ms: number;
  readonly outcome: string;
  readonly message?: string;
  readonly exitCode?: number;
  readonly output?: string;
}

/** An entry in the history of a dataset. It has either `job` or `request`. */
export interface ReportedEntry {
  readonly at: string;
  readonly job?: {
    readonly lane: LaneName;
    readonly outcome: string;
    readonly attempt?: number;
    readonly ms?: number;
    readonly message?: string;
    readonly calls?: readonly ReportedCall[];
    readonly process?: { readonly instance: number; readonly host: string; readonly pid: number };
  };
  readonly request?: {
    readonly actor: { readonly kind: string; readonly id?: string };
    readonly method: string;
    readonly route: string;
    readonly outcome: string;
    readonly status?: number;
  };
}

export interface DatasetHistoryQuery {
  readonly order: 'oldest-first' | 'newest-first';
  readonly limit: number;
  /** `next` of the page before. */
  readonly after?: string;
}

export interface DatasetHistoryPage {
  readonly results: readonly ReportedEntry[];
  readonly next?: string;
}

export interface ReportedPause {
  readonly kind: PauseKind;
  readonly name: string;
  readonly since: string;
  readonly by: string;
  readonly reason?: string;
  readonly until?: string;
}

export interface ReportedProblem {
  readonly id: string;
  readonly lane: ProblemLane;
  readonly state: ProblemState;
  readonly datasetId?: string;
  readonly owner?: string;
  readonly type?: string;
  readonly installTarget?: string;
  readonly message: string;
  readonly cause: string;
  readonly since: string;
}

export interface ReportedCause {
  readonly cause: string;
  readonly lane: ProblemLane;
  readonly state: ProblemState;
  readonly count: number;
  readonly oldest: string;
  readonly newest: string;
  readonly example: { readonly id: string; readonly message: string };
}

/** What an order did, or with `dryRun` would do. */
export interface HandledProblems {
  readonly dryRun: boolean;
  readonly problems: number;
  readonly done: number;
  readonly lanes: readonly {
    readonly lane: ProblemLane;
    readonly problems: number;
    readonly done: number;
    /** By reason. */
    readonly skipped: Readonly<Record<string, number>>;
  }[];
  readonly next?: string;
}

/** As in the query of the API. */
export type ProblemQuery = Readonly<Record<string, string>>;

export interface JobsQuery {
  readonly lane?: string;
  readonly state?: string;
  readonly limit: number;
}

/** A run of a daemon, current or last. `ended` is absent while it is in progress. */
export interface ReportedRun {
  readonly started: string;
  readonly ended?: string;
  /** Why it ended early. */
  readonly failure?: string;
}

export interface ReportedRuns<Run extends ReportedRun> {
  readonly current?: Run;
  readonly last?: Run;
}

export interface ReconcileRun extends ReportedRun {
  readonly kind: 'full' | 'slim';
  readonly listed: number;
  readonly malformed: number;
  readonly reconciled: number;
  /** By database. */
  readonly absent: Readonly<Record<string, number>>;
  readonly deleted: number;
  readonly spared: number;
  readonly leftOut: readonly { readonly installTarget: string; readonly reason: string }[];
  readonly braked?: string;
}

export interface PruneRun extends ReportedRun {
  readonly cutoff: string;
  readonly pruned: number;
  readonly trimmed: number;
  /** By reason. */
  readonly skipped: Readonly<Record<string, number>>;
  readonly failures: number;
}
