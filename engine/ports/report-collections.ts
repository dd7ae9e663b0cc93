// The report jobs that each user keeps, with what the user notes about them.

import type { UserId } from '../model/ids.ts';
import type { QueryJobId } from '../model/report/query-job.ts';
import type { ReportJobId } from '../model/report/report-job-id.ts';
import type { ReportStatus, UserMeta, UserMetaChange } from '../model/report-job.ts';

export interface CollectedReport {
  readonly id: ReportJobId;
  readonly queryId: QueryJobId;
  readonly status: ReportStatus;
  readonly meta: UserMeta;
}

export interface ReportCollections {
  /** Of one user, the newest link first; `queryId` leaves those of one query. In bounded memory, without a query per job. */
  list(
    user: UserId,
    filter: { readonly queryId?: QueryJobId | undefined },
    signal: AbortSignal,
  ): AsyncIterable<CollectedReport>;
  /** False when the job is not in the user's collection. */
  annotate(user: UserId, id: ReportJobId, change: UserMetaChange, signal: AbortSignal): Promise<boolean>;
  /** Takes it out of the collection; the job stays. False when it is not there. */
  remove(user: UserId, id: ReportJobId, signal: AbortSignal): Promise<boolean>;
}
