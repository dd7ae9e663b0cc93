// Where each lane's claims begin to look: at the job that was its oldest a moment ago. What an index still has of jobs that are
// gone costs every claim time (migration 16), so it matters to lanes that claim many after one another, and to them only.
//
// A job may come to stand before that one. It is found from the beginning: after LOOK_AGAIN_MS, or as soon as there was less
// to be claimed than wanted.

import type { LaneName } from '../../model/event.ts';
import type { Clock } from '../../runtime/time.ts';
import type { JobPlace } from './job-exchange.ts';

/** The longest that a job may be passed over. */
const LOOK_AGAIN_MS = 1_000;
/** Who claims fewer at a time leaves few behind. */
const MANY = 5;

interface Known {
  readonly place: JobPlace;
  readonly until: number;
}

export class OldestJobs {
  readonly #clock: Clock;
  readonly #known = new Map<LaneName, Known>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Where the next claim of the lane begins; undefined at its beginning. */
  of(lane: LaneName): JobPlace | undefined {
    const known = this.#known.get(lane);
    return known && this.#clock.now() < known.until ? known.place : undefined;
  }

  /**
   * After a claim of `limit` jobs that began at `from` and found `oldest` and `count` to claim. True when there may be jobs
   * before `from` that it should have had: to be claimed at once.
   */
  claimed(
    lane: LaneName,
    from: JobPlace | undefined,
    oldest: JobPlace | undefined,
    limit: number,
    count: number,
  ): boolean {
    const full = count >= limit;
    const until = from ? this.#known.get(lane)?.until : this.#clock.now() + LOOK_AGAIN_MS;
    if (full && limit >= MANY && oldest && until !== undefined) this.#known.set(lane, { place: oldest, until });
    else this.#known.delete(lane);
    return !full && from !== undefined;
  }
}
