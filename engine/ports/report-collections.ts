// The report jobs that each user keeps, with what the user notes about them.

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
  /** Of one user, the newest link first; `queryId` leaves those of one query. In bounded memory, without a query per job. */
  list(
    user: Collector,
    filter: { readonly queryId?: QueryJobId | undefined },
    signal: AbortSignal,
  ): AsyncIterable<CollectedReport>;
  /** False when the job is not in the user's collection. */
  annotate(user: Collector, id: ReportJobId, change: UserMetaChange, signal: AbortSignal): Promise<boolean>;
  /** Takes it out of the collection; the job stays. False when it is not there. */
  remove(user: Collector, id: ReportJobId, signal: AbortSignal): Promise<boolean>;
  /**
   * All of a collection becomes a part of another one, as its newest, and leaves the first empty. Of a job that is in both,
   * what the new owner has noted stays.
   */
  handOver(from: Collector, to: Collector, signal: AbortSignal): Promise<void>;
}
