// Runs the handler jobs of this process: places to run in, one folder per job, and counts of what was done.

import type { Traceparent } from '../model/traceparent.ts';
import type { HandlerCounts, HandlerJob } from './handler-jobs.ts';

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
  | { readonly kind: 'completed'; readonly fileName: string; readonly bytes: number }
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
