// How long jobs were due although a worker of the lane was free. Usually no time: a notification
// wakes the lane, which claims the job at once. A longer wait means that a notification was lost or late.

export class IdleWaits {
  /** Since when a worker has been free; undefined while all work. */
  #freeSince: number | undefined;

  /** Call when a worker or the number of workers changes. */
  note(isFree: boolean, now: number): void {
    if (!isFree) this.#freeSince = undefined;
    else this.#freeSince ??= now;
  }

  /** Of jobs that were just claimed, in ms; none if no worker was free. */
  ofJobs<Job>(jobs: readonly Job[], waitedMs: ((job: Job) => number) | undefined, now: number): readonly number[] {
    const since = this.#freeSince;
    return since === undefined ? [] : jobs.map((job) => Math.min(waitedMs?.(job) ?? 0, now - since));
  }
}
