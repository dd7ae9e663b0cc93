// The report jobs that each user keeps, with the user's notes about them.

import type { QueryJobId } from '../model/report/query-job.ts';
import type { ReportJobId } from '../model/report/report-job-id.ts';
import type { Collector, ReportStatus, UserMeta, UserMetaChange } from '../model/report-job.ts';

export interface CollectedReport {
  readonly id: ReportJobId;
  readonly queryId: QueryJobId;
  readonly status: ReportStatus;
  readonly meta: UserMeta;
}

export interface ReportCollections {
  /**
   * Jobs of one user, the newest link first; `queryId` selects those of one query. In bounded memory, without a query per job.
   */
  list(
    user: Collector,
    filter: { readonly queryId?: QueryJobId | undefined },
    signal: AbortSignal,
  ): AsyncIterable<CollectedReport>;
  /** False when the job is not in the user's collection. */
  annotate(user: Collector, id: ReportJobId, change: UserMetaChange, signal: AbortSignal): Promise<boolean>;
  /** Removes it from the collection; the job stays. False when it is not there. */
  remove(user: Collector, id: ReportJobId, signal: AbortSignal): Promise<boolean>;
  /**
   * Moves a whole collection into another one, as its newest jobs; the first one is empty afterwards. For a job in both, the
   * new owner's notes are kept.
   */
  handOver(from: Collector, to: Collector, signal: AbortSignal): Promise<void>;
}
