// Records of handler jobs. Times are the caller's: a job is absent from the instant at which it expires.

import type { HandlerState, JobRegistration } from '../model/handler-job.ts';
import type { UserId } from '../model/ids.ts';

export interface NewHandlerJob {
  /** Internal, a UUID: names workspace and objects. */
  readonly id: string;
  /** The caller's own. */
  readonly jobId: string;
  readonly registration: JobRegistration;
  readonly created: Date;
  readonly expires: Date;
}

export interface HandlerResult {
  readonly fileName: string;
  readonly bytes: number;
  /** From then on it can no longer be fetched. */
  readonly expires: Date;
}

export interface HandlerJob extends Omit<NewHandlerJob, 'expires'> {
  readonly state: HandlerState;
  /** Of the upload. */
  readonly started: Date | undefined;
  readonly ended: Date | undefined;
  /** Bytes uploaded. */
  readonly size: number;
  /** Undefined before the job has completed and after the result was removed. */
  readonly result: HandlerResult | undefined;
  /** Why it failed, or why the last upload was refused. */
  readonly message: string | undefined;
}

/** To another state; model/handler-job.ts says from where. */
export type HandlerMove =
  | { readonly to: 'uploading'; readonly started: Date }
  /** The upload was refused: as before it, but for the message. */
  | { readonly to: 'awaiting'; readonly message: string; readonly expires: Date }
  | { readonly to: 'unpacking'; readonly size: number }
  | { readonly to: 'processing' }
  | {
      readonly to: 'completed';
      readonly ended: Date;
      readonly result: HandlerResult;
      readonly expires: Date;
      /** What the owner should hear of although all went well; absent = nothing. */
      readonly message?: string;
    }
  | { readonly to: 'failed'; readonly ended: Date; readonly message: string; readonly expires: Date };

/** What has to be removed: the objects of a job's result, or those and the record. */
export interface DueHandlerJob {
  readonly id: string;
  readonly what: 'result' | 'job';
}

export interface KeptResults {
  /** Of all results that were not removed yet, those past their time included. */
  readonly bytes: number;
  /** When the first of them is to go; undefined when there is none. */
  readonly nextExpiry: Date | undefined;
}

export interface HandlerJobs {
  /** In the place of a job under the same id that does not run, which is due at once; false while one runs. */
  register(job: NewHandlerJob, signal: AbortSignal): Promise<boolean>;
  /** The job that the caller's id stands for at that time. */
  find(jobId: string, now: Date, signal: AbortSignal): Promise<HandlerJob | undefined>;
  /** False, and nothing changes, when the job is gone, in another state, or runs in another process. */
  move(id: string, move: HandlerMove, signal: AbortSignal): Promise<boolean>;
  /** Results of all jobs of the owner, those whose ids were taken over by others included. */
  kept(owner: UserId, signal: AbortSignal): Promise<KeptResults>;
  /** Fails the running jobs of processes that died; returns their internal ids. */
  failOrphans(end: Omit<HandlerMove & { to: 'failed' }, 'to'>, signal: AbortSignal): Promise<readonly string[]>;
  /** Some of what is due at that time, at most `limit`. */
  due(now: Date, limit: number, signal: AbortSignal): Promise<readonly DueHandlerJob[]>;
  /** After the objects were removed. A job that was registered anew meanwhile is another one and stays. */
  forget(due: DueHandlerJob, signal: AbortSignal): Promise<void>;
}
