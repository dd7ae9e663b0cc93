// Report jobs as those see them who run them, and who clean up after them.
//
//   queued       --exchange claims-->  in-progress   with a lease: 30 s, or until its process dies
//   in-progress  --complete, failed--> ended
//   in-progress  --again-->            queued, claimable from the given time
//   in-progress, lease over  -->       queued        by the next exchange of anybody

import type { ReportJobId } from '../model/report/report-job-id.ts';
import type { ReportFile, ReportRequest } from '../model/report-job.ts';
import type { Tenant } from '../model/tenant.ts';
import type { Traceparent } from '../model/traceparent.ts';

export interface ReportClaim extends ReportRequest {
  /** Only grows: what this run may write, and nobody else. */
  readonly attempt: number;
  /** Tries that failed since the job was queued; 0 at first. */
  readonly tries: number;
  /** Milliseconds for which it could have been claimed. */
  readonly waitedMs: number;
  /** Of the request that had it wait; absent for jobs of programs that knew none. */
  readonly traceparent?: Traceparent;
  /** Whose share it counts against. */
  readonly tenant: Tenant;
}

export type ReportOutcome =
  | {
      readonly kind: 'complete';
      readonly ended: Date;
      readonly files: readonly ReportFile[];
      readonly stderr: string;
    }
  /** `reason` says why, and is the last line of `stderr`. */
  | { readonly kind: 'failed'; readonly ended: Date; readonly reason: string; readonly stderr: string }
  /** Back to the queue: cut short, or something that the run needs is away. */
  | { readonly kind: 'again'; readonly from: Date; readonly countTry: boolean };

export interface ReportCompletion {
  readonly claim: Pick<ReportClaim, 'id' | 'attempt'>;
  readonly outcome: ReportOutcome;
}

export interface ReportDebris {
  readonly id: ReportJobId;
  /** Objects of this attempt and of those before it are nobody's any more. */
  readonly upTo: number;
}

export interface ReportClaimRequest {
  /** 0 = complete only. */
  readonly limit: number;
  /** Tenants of whom no job is claimed; default none. */
  readonly withheld?: readonly Tenant[];
}

export interface ReportQueue {
  /**
   * Writes outcomes and claims up to `limit` jobs, none of a withheld tenant; all or nothing. Tenants take turns, the one with
   * the fewest running first; of one tenant, and where tenants have as many, those that have waited longest come first. An
   * outcome whose lease is over is ignored.
   */
  exchange(
    done: readonly ReportCompletion[],
    claim: ReportClaimRequest,
    now: Date,
    signal: AbortSignal,
  ): Promise<readonly ReportClaim[]>;
  /** Extends the leases; returns those that are over. Call every 10 s. */
  renew(
    claims: readonly Pick<ReportClaim, 'id' | 'attempt'>[],
    signal: AbortSignal,
  ): Promise<readonly Pick<ReportClaim, 'id' | 'attempt'>[]>;
  /** Calls `wake` when there may be jobs to claim. The returned function stops that. */
  watch(wake: () => void): () => void;
}

export interface ReportExpiry {
  /** Complete and failed jobs that nobody has accessed since that time expire, at most `limit`; how many did. */
  expire(before: Date, limit: number, signal: AbortSignal): Promise<number>;
  /** One job expires, whenever it was accessed; `running`: it has not ended and stays as it is. An expired one is `expired`. */
  expireOne(id: ReportJobId, signal: AbortSignal): Promise<'expired' | 'running' | 'absent'>;
  /** What ended attempts have left in the object store: at most `limit` jobs, in the order of ids, after that id. */
  debris(after: ReportJobId | undefined, limit: number, signal: AbortSignal): Promise<readonly ReportDebris[]>;
  /** After it was removed. */
  removed(debris: ReportDebris, signal: AbortSignal): Promise<void>;
}
