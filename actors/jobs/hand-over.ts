// Hands the next job of a dataset to its lane when the job before it ends, if both lanes run in this process. The job is claimed
// with the completion of the one before, so it needs no notification and no claim of its own. The lane must have an idle worker,
// and no other job may have a better right to it: the order of claims and the fair shares stay what they are without it.
//
// A crash between the claim and the hand-over leaves a lease that expires, as with every claim.

import type { Completion } from '../../engine/jobs/lane-options.ts';
import type { LaneName } from '../../engine/model/event.ts';
import type { ClaimedJob, JobCompletion, RecordedOutcome } from '../../engine/ports/jobs.ts';

/** What the jobs of a lane make due when they are done. */
const NEXT: Readonly<Partial<Record<LaneName, LaneName>>> = { upload: 'import', import: 'install' };

/** A lane that takes jobs over. */
export interface Receiver {
  /** Keeps a place for a job of the same owner and type; undefined when that job has to be claimed like any other. */
  reserve(like: ClaimedJob): Place | undefined;
}

export interface Place {
  /** Others have a better right to it. */
  readonly last: boolean;
  /** Call it once: with the job that came, or without one. False when the job has to be given back. */
  fill(job: ClaimedJob | undefined): boolean;
}

/** The lanes of this process. */
export type Receivers = ReadonlyMap<LaneName, Receiver>;

/** The places for the jobs that follow a number of completions. */
export class Places {
  readonly completions: readonly JobCompletion[];
  readonly #places = new Map<string, Place>();

  constructor(done: readonly Completion<ClaimedJob, RecordedOutcome>[], receivers: Receivers | undefined) {
    this.completions = done.map(({ job, outcome }) => {
      const next = outcome.kind === 'done' ? NEXT[job.lane] : undefined;
      const place = next && receivers?.get(next)?.reserve(job);
      if (!next || !place || this.#places.has(job.dataset)) return { job, outcome };
      this.#places.set(job.dataset, place);
      return { job, outcome, next: { lane: next, last: place.last } };
    });
  }

  /** Hands the jobs of other lanes over, and frees the places that are left. Returns the jobs to run or to give back here. */
  handOver(lane: LaneName, jobs: readonly ClaimedJob[]): readonly ClaimedJob[] {
    const left = jobs.filter((job) => {
      const place = job.lane === lane ? undefined : this.#places.get(job.dataset);
      if (place) this.#places.delete(job.dataset);
      return place?.fill(job) !== true;
    });
    for (const place of this.#places.values()) place.fill(undefined);
    this.#places.clear();
    return left;
  }
}
