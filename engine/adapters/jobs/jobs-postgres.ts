// The job table on PostgreSQL. Completing and claiming take one round trip (complete-and-fetch.ts). This file wakes the lanes.
//
// A lane is woken
//   - by a job that was enqueued for it or put back, in any process;
//   - by the end of another job of a dataset whose job waits in this lane, unless the job is handed over with it
//     (complete_and_fetch_jobs notifies it);
//   - after a claim that left due jobs behind, until a claim finds no job that it may take;
//   - by a lease that was released without a job, if the last claim left due jobs behind;
//   - when its earliest delayed job is due, as far as this process has seen it;
//   - whenever notifications may have been missed.
// The lane's slow poll finds the rest: running and delayed jobs of a process that died.

import { LANES, type LaneName } from '../../model/event.ts';
import type { DatasetId, UserId } from '../../model/ids.ts';
import type { ClaimedJob, ClaimRequest, JobCompletion, JobRequest, Jobs, LaneDepth } from '../../ports/jobs.ts';
import type { Clock } from '../../runtime/time.ts';
import { LEASE_CHANNEL } from '../postgres/leases-postgres.ts';
import type { Postgres } from '../postgres/postgres.ts';
import type { PostgresInstance } from '../postgres/postgres-instance.ts';
import { completeAndFetchJobs, type Fetched } from './complete-and-fetch.ts';
import { enqueueJobs, JOB_CHANNEL } from './enqueue-jobs.ts';

/** Node's timers cannot wait longer than 24 days, and an extra claim once a day costs nothing. */
const LONGEST_TIMER_MS = 86_400_000;

const OVERTAKEN = `
select dataset_id from job where dataset_id = any($1::text[]) and lane = 'softDelete' and state = 'queued'`;

const DEPTHS = `
select lane,
  count(*) filter (where state = 'queued') as queued, count(*) filter (where state = 'running') as running,
  count(*) filter (where state = 'delayed') as delayed, count(*) filter (where state = 'dead') as dead,
  coalesce(ceil(extract(epoch from now() - min(run_at)
    filter (where state in ('queued', 'delayed') and run_at <= now())) * 1000)::bigint, 0) as "oldestMs"
from job group by lane`;

export class PostgresJobs implements Jobs {
  readonly #db: Postgres;
  readonly #instance: PostgresInstance;
  readonly #clock: Clock;
  readonly #wakes = new Map<LaneName, Set<() => void>>();
  readonly #alarms = new Map<LaneName, { readonly at: number; readonly cancel: () => void }>();
  /** Lanes whose last claim left due jobs behind. */
  readonly #blocked = new Set<LaneName>();
  /** For each lane, the owner of the last claimed job. The owner after it has the next turn. */
  readonly #lastOwners = new Map<LaneName, UserId>();
  /** Number of leases that were released without a job, as far as this process knows. */
  #releases = 0;

  constructor(db: Postgres, instance: PostgresInstance, clock: Clock) {
    this.#db = db;
    this.#instance = instance;
    this.#clock = clock;
  }

  async enqueue(requests: readonly JobRequest[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await enqueueJobs(this.#db, requests);
  }

  /**
   * A lane that lost a lease without noticing may receive the same job as a duplicate, with a higher token. After a failure,
   * the statement may or may not have been executed. Pass the same completions again: those already written are ignored.
   */
  async completeAndFetch(
    done: readonly JobCompletion[],
    claim: ClaimRequest,
    signal: AbortSignal,
  ): Promise<readonly ClaimedJob[]> {
    signal.throwIfAborted();
    // Without a connection, other processes consider this one dead and would claim its new jobs again.
    const { connected } = this.#instance;
    const limit = connected ? claim.limit : 0;
    if (done.length === 0 && limit <= 0) return [];
    const completions = connected ? done : done.map(({ job, outcome }) => ({ job, outcome }));
    const releases = this.#releases;
    const afterOwner = this.#lastOwners.get(claim.lane);
    const fetched = await completeAndFetchJobs(this.#db.grouped, this.#instance.id, completions, {
      ...claim,
      limit,
      afterOwner,
    });
    for (const { job, outcome } of done)
      if (outcome.kind === 'retry') this.#wakeAfter(job.lane, Math.ceil(outcome.delayMs));
    const last = fetched.claimed.at(-1);
    if (last) this.#lastOwners.set(claim.lane, last.owner);
    if (limit > 0) this.#noteLook(claim.lane, fetched, releases);
    return [...fetched.claimed, ...fetched.handedOver];
  }

  watch(lane: LaneName, wake: () => void): () => void {
    const wakes = this.#wakes.get(lane) ?? new Set();
    const mine = (): void => wake();
    this.#wakes.set(lane, wakes.add(mine));
    const stops = [
      this.#instance.listen(JOB_CHANNEL, (payload) => {
        if (payload === undefined || payload === lane) mine();
      }),
      this.#instance.listen(LEASE_CHANNEL, () => {
        this.#releases++;
        if (this.#blocked.has(lane)) mine();
      }),
      () => wakes.delete(mine),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }

  async overtaken(datasets: readonly DatasetId[], signal: AbortSignal): Promise<readonly DatasetId[]> {
    signal.throwIfAborted();
    const rows = await this.#db.query<{ dataset_id: DatasetId }>(OVERTAKEN, [datasets], 'jobs-overtaken');
    return rows.map((row) => row.dataset_id);
  }

  async depths(signal: AbortSignal): Promise<readonly LaneDepth[]> {
    signal.throwIfAborted();
    const rows = await this.#db.query<LaneDepth>(DEPTHS);
    const known = new Map(rows.map((row) => [row.lane, row]));
    return LANES.map((lane) => known.get(lane) ?? { lane, queued: 0, running: 0, delayed: 0, dead: 0, oldestMs: 0 });
  }

  #noteLook(lane: LaneName, { claimed, more, nextDueMs }: Fetched, releasesBefore: number): void {
    if (nextDueMs !== undefined) this.#wakeAfter(lane, nextDueMs);
    // Jobs may be left that could be claimed, because an owner gets only half of the places in each claim. Only a claim that finds
    // nothing shows that the rest are blocked.
    if (more && claimed.length > 0) this.#wake(lane);
    if (!more || claimed.length > 0) {
      this.#blocked.delete(lane);
      return;
    }
    this.#blocked.add(lane);
    // The release that these jobs wait for may have happened while the statement ran.
    if (this.#releases !== releasesBefore) this.#wake(lane);
  }

  /** Keeps the earliest time. If that job is gone by then, the wake costs one empty claim. */
  #wakeAfter(lane: LaneName, ms: number): void {
    const at = this.#clock.now() + Math.min(ms, LONGEST_TIMER_MS);
    const alarm = this.#alarms.get(lane);
    if (alarm && alarm.at <= at) return;
    alarm?.cancel();
    const cancel = this.#clock.after(at - this.#clock.now(), () => {
      this.#alarms.delete(lane);
      this.#wake(lane);
    });
    this.#alarms.set(lane, { at, cancel });
  }

  #wake(lane: LaneName): void {
    for (const wake of [...(this.#wakes.get(lane) ?? [])]) wake();
  }
}
