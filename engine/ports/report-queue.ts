// Report jobs as seen by those who run them and by those who clean up after them.
//
//   queued       --completeAndFetch-->  in-progress   with a lease: 30 s, or until its process dies
//   in-progress  --complete, failed--> ended
//   in-progress  --again-->            queued, claimable from the given time
//   in-progress, lease expired --> queued        by the next claim of any process

import type { ReportJobId } from '../model/report/report-job-id.ts';
import type { ReportFile, ReportRequest } from '../model/report-job.ts';
import type { Tenant } from '../model/tenant.ts';
import type { Traceparent } from '../model/traceparent.ts';

export interface ReportClaim extends ReportRequest {
  /** Only grows. This attempt, and no other, may write under this number. */
  readonly attempt: number;
  /** Attempts that failed since the job was queued; 0 at first. */
  readonly tries: number;
  /** How long the job was claimable before it was claimed, in ms. */
  readonly waitedMs: number;
  /** Of the request that queued it; absent for jobs queued by programs without tracing. */
  readonly traceparent?: Traceparent;
  /** The tenant whose share it counts against. */
  readonly tenant: Tenant;
}

export type ReportOutcome =
  | {
      readonly kind: 'complete';
      readonly ended: Date;
      readonly files: readonly ReportFile[];
      readonly stderr: string;
    }
  /** `reason` says why; it is the last line of `stderr`. */
  | { readonly kind: 'failed'; readonly ended: Date; readonly reason: string; readonly stderr: string }
  /** Back to the queue: interrupted, or something that the attempt needs is unavailable. */
  | { readonly kind: 'again'; readonly from: Date; readonly countTry: boolean };

export interface ReportCompletion {
  readonly claim: Pick<ReportClaim, 'id' | 'attempt'>;
  readonly outcome: ReportOutcome;
}

export interface ReportDebris {
  readonly id: ReportJobId;
  /** Objects of this attempt and of earlier ones are no longer used. */
  readonly upTo: number;
}

export interface ReportClaimRequest {
  /** 0 = complete only. */
  readonly limit: number;
  /** Tenants whose jobs are not claimed; default none. */
  readonly withheld?: readonly Tenant[];
}

export interface ReportQueue {
  /**
   * Writes outcomes and claims up to `limit` jobs, none of a withheld tenant; all or nothing. Tenants take turns: the one with
   * the fewest running jobs comes first. Within a tenant, and between tenants with equally many, the jobs that have waited
   * longest come first. An outcome whose lease has expired is ignored.
   */
  completeAndFetch(
    done: readonly ReportCompletion[],
    claim: ReportClaimRequest,
    now: Date,
    signal: AbortSignal,
  ): Promise<readonly ReportClaim[]>;
  /** Extends the leases; returns those that have expired. Call every 10 s. */
  renew(
    claims: readonly Pick<ReportClaim, 'id' | 'attempt'>[],
    signal: AbortSignal,
  ): Promise<readonly Pick<ReportClaim, 'id' | 'attempt'>[]>;
  /** Calls `wake` when there may be jobs to claim. The returned function unsubscribes. */
  watch(wake: () => void): () => void;
}

export interface ReportExpiry {
  /** Expires at most `limit` completed and failed jobs that nobody has accessed since that time; returns how many. */
  expire(before: Date, limit: number, signal: AbortSignal): Promise<number>;
  /**
   * Expires one job, whenever it was accessed. `running`: it has not ended and is unchanged. A job already expired is
   * `expired`.
   */
  expireOne(id: ReportJobId, signal: AbortSignal): Promise<'expired' | 'running' | 'absent'>;
  /** What ended attempts have left in the object store: at most `limit` jobs with ids after `after`, in order of ids. */
  debris(after: ReportJobId | undefined, limit: number, signal: AbortSignal): Promise<readonly ReportDebris[]>;
  /** Call this after the objects were removed. */
  removed(debris: ReportDebris, signal: AbortSignal): Promise<void>;
}
