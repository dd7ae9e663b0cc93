// Records of handler jobs, and totals of the handler service. The caller passes the times: a job is absent from the instant at
// which it expires.

import type { HandlerState, JobRegistration } from '../model/handler-job.ts';
import type { UserId } from '../model/ids.ts';
import type { Traceparent } from '../model/traceparent.ts';
import type { ObjectDigest } from './catalog.ts';

export interface NewHandlerJob {
  /** Internal id, a UUID: names workspace and objects. */
  readonly id: string;
  /** The caller's own id. */
  readonly jobId: string;
  readonly registration: JobRegistration;
  readonly created: Date;
  readonly expires: Date;
}

interface HandlerResult {
  readonly fileName: string;
  readonly bytes: number;
  /** From this instant on it can no longer be fetched. */
  readonly expires: Date;
  /** Absent = not known, as of results that were stored before it was kept. */
  readonly digest?: ObjectDigest;
}

export interface HandlerJob extends Omit<NewHandlerJob, 'expires'> {
  readonly state: HandlerState;
  /** When the upload started. */
  readonly started: Date | undefined;
  readonly ended: Date | undefined;
  /** Bytes uploaded. */
  readonly size: number;
  /** Undefined before the job has completed and after the result was removed. */
  readonly result: HandlerResult | undefined;
  /** Why the job failed, or why the last upload was refused. */
  readonly message: string | undefined;
}

/** A move to another state; model/handler-job.ts says which states it may come from. */
export type HandlerMove =
  | { readonly to: 'uploading'; readonly started: Date }
  /** The upload was refused: back to the state before it, plus the message. */
  | { readonly to: 'awaiting'; readonly message: string; readonly expires: Date }
  | { readonly to: 'unpacking'; readonly size: number }
  | { readonly to: 'processing' }
  | {
      readonly to: 'completed';
      readonly ended: Date;
      readonly result: HandlerResult;
      readonly expires: Date;
      /** What the owner should be told although the job succeeded; absent = nothing. */
      readonly message?: string;
    }
  | { readonly to: 'failed'; readonly ended: Date; readonly message: string; readonly expires: Date };

/** What has to be removed: the objects of a job's result, or the objects and the record. */
export interface DueHandlerJob {
  readonly id: string;
  readonly what: 'result' | 'job';
}

export interface KeptResults {
  /** Of all results that were not removed yet, including expired ones. */
  readonly bytes: number;
  /** When the first of them expires; undefined when there is none. */
  readonly nextExpiry: Date | undefined;
}

export interface HandlerJobs {
  /**
   * Registers the job. A job under the same id that does not run is replaced and is due for removal at once. False while one
   * runs.
   */
  register(job: NewHandlerJob, signal: AbortSignal): Promise<boolean>;
  /** The job that the caller's id refers to at that time. */
  find(jobId: string, now: Date, signal: AbortSignal): Promise<HandlerJob | undefined>;
  /** False, with nothing changed, when the job is gone, in another state, or runs in another process. */
  move(id: string, move: HandlerMove, signal: AbortSignal): Promise<boolean>;
  /** Results of all jobs of the owner, including jobs whose ids were reused by others. */
  kept(owner: UserId, signal: AbortSignal): Promise<KeptResults>;
  /** Fails the running jobs of processes that died; returns their internal ids. */
  failOrphans(end: Omit<HandlerMove & { to: 'failed' }, 'to'>, signal: AbortSignal): Promise<readonly string[]>;
  /** Some of what is due at that time, at most `limit`. */
  due(now: Date, limit: number, signal: AbortSignal): Promise<readonly DueHandlerJob[]>;
  /** Call this after the objects were removed. A job that was registered again meanwhile is a different job and stays. */
  forget(due: DueHandlerJob, signal: AbortSignal): Promise<void>;
}

/** Totals over all processes of the service and their restarts (docs/contract/handler.md#health). */
export interface HandlerCounts {
  /** Responses by HTTP status. */
  readonly byStatus: Readonly<Record<number, number>>;
  /** Uploads received completely. */
  readonly uploads: number;
  readonly uploadedBytes: number;
  /** Bytes of the largest upload. */
  readonly largest: number;
  /** Runs that ended, successfully or not. */
  readonly runs: number;
  readonly runMs: number;
  readonly longestMs: number;
}

export const NO_COUNTS: HandlerCounts = {
  byStatus: {},
  uploads: 0,
  uploadedBytes: 0,
  largest: 0,
  runs: 0,
  runMs: 0,
  longestMs: 0,
};

export interface HandlerStatistics {
  /** Adds counts and sums, keeps the larger of two maxima; all or nothing. */
  add(counts: HandlerCounts, signal: AbortSignal): Promise<void>;
  read(signal: AbortSignal): Promise<HandlerCounts>;
}

export function sumOf(a: HandlerCounts, b: HandlerCounts): HandlerCounts {
  const byStatus: Record<number, number> = { ...a.byStatus };
  for (const [status, count] of Object.entries(b.byStatus))
    byStatus[Number(status)] = (byStatus[Number(status)] ?? 0) + count;
  return {
    byStatus,
    uploads: a.uploads + b.uploads,
    uploadedBytes: a.uploadedBytes + b.uploadedBytes,
    largest: Math.max(a.largest, b.largest),
    runs: a.runs + b.runs,
    runMs: a.runMs + b.runMs,
    longestMs: Math.max(a.longestMs, b.longestMs),
  };
}

// Runs the handler jobs of this process: places to run in, one folder per job, and counts of what was done.

export type PackageKind = 'zip' | 'tar.gz';

/** An upload that is complete. */
export interface ReceivedPackage {
  readonly bytes: number;
  readonly kind: PackageKind;
}

export interface StartedJob extends Pick<HandlerJob, 'id' | 'jobId' | 'registration'> {
  readonly started: Date;
  /** Of the request that uploaded. */
  readonly traceparent: Traceparent;
}

export type JobEnd =
  | {
      readonly kind: 'completed';
      readonly fileName: string;
      readonly bytes: number;
      readonly digest: ObjectDigest;
    }
  /** The upload cannot be used; the job waits for another. */
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'user-error'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string };

/** Disposing frees it, unless work was given to it: then it is freed when the work ends. */
export interface HandlerPlace extends Disposable {
  /** Call once. Always begins the work, with an aborted signal if the lane ends first. Settles as the work does. */
  run<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
}

export interface HandlerPlaces {
  readonly capacity: number;
  readonly taken: number;
  heldBy(owner: string): number;
  /** Undefined when no place is free for this owner. */
  reserve(owner: string): HandlerPlace | undefined;
}

/** The folder of one job. Disposing removes it. */
export interface HandlerRun extends AsyncDisposable {
  /** Path of a file that does not exist yet: the upload goes there. */
  readonly upload: string;
  /** Call once, after the upload is complete. The job's record says how it ended, even if this rejects. */
  run(received: ReceivedPackage, signal: AbortSignal): Promise<JobEnd>;
}

export interface HandlerRuns {
  begin(job: StartedJob): Promise<HandlerRun>;
  /** The upload was refused: the job waits for another one, and its record holds the message. */
  release(job: Pick<StartedJob, 'id'>, message: string, signal: AbortSignal): Promise<void>;
}

export interface HandlerCounter {
  responded(status: number): void;
  uploaded(bytes: number): void;
  /** Everything so far, of all processes. */
  read(signal: AbortSignal): Promise<HandlerCounts>;
}
