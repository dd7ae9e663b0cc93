// The job table on PostgreSQL. Completing and claiming take one round trip (complete-and-fetch.ts). This file wakes the lanes.
//
// A lane is woken
//   - by a job that was enqueued for it or put back;
//   - by a released lease, in any process, if its last claim left due jobs behind;
//   - when its earliest delayed job is due, as far as this process has seen it;
//   - whenever notifications may have been missed.
// The lane's slow poll finds the rest: running and delayed jobs of a process that died.

import { LANES, type LaneName, laneRank } from '../../model/event.ts';
import type { DatasetId, UserId } from '../../model/ids.ts';
import type { ClaimedJob, ClaimRequest, JobCompletion, JobRequest, Jobs, LaneDepth } from '../../ports/jobs.ts';
import type { Clock } from '../../runtime/time.ts';
import { LEASE_CHANNEL } from '../postgres/leases-postgres.ts';
import type { Postgres, Sql } from '../postgres/postgres.ts';
import type { PostgresInstance } from '../postgres/postgres-instance.ts';
import { completeAndFetchJobs, type Fetched } from './complete-and-fetch.ts';

/** Notified with the name of a lane that may have claimable jobs; complete_and_fetch_jobs notifies it, too. */
export const JOB_CHANNEL = 'longshore_job';
/** Most requests in one statement. */
const ENQUEUE_BATCH = 5_000;
/** Node's timers cannot wait longer than 24 days, and an extra claim once a day costs nothing. */
const LONGEST_TIMER_MS = 86_400_000;

const ENQUEUE = `
with upserted as (
  insert into job as j (lane, dataset_id, rank, owner, event_id, source, type, traceparent)
  select r.lane, r.dataset_id, r.rank, r.owner::numeric, r.event_id, r.source, d.type_name || ':' || d.type_version, d.traceparent
  from unnest($1::text[], $2::text[], $3::smallint[], $4::text[], $5::bigint[], $6::text[])
    as r(lane, dataset_id, rank, owner, event_id, source)
  left join dataset d on d.dataset_id = r.dataset_id
  -- The order in which completions lock the same rows.
  order by r.dataset_id collate "C", r.lane
  on conflict (dataset_id, lane) do update set
    again = j.again or j.state in ('running', 'dead'),
    event_id = greatest(j.event_id, excluded.event_id),
    source = case when excluded.event_id >= j.event_id then excluded.source else j.source end,
    owner = excluded.owner,
    type = coalesce(excluded.type, j.type),
    traceparent = coalesce(excluded.traceparent, j.traceparent)
  returning j.lane, j.state)
select pg_notify('${JOB_CHANNEL}', u.lane) from (select distinct lane from upserted where state = 'queued') u`;

const OVERTAKEN = `
select dataset_id from job where dataset_id = any($1::text[]) and lane = 'softDelete' and state = 'queued'`;

const DEPTHS = `
select lane,
  count(*) filter (where state = 'queued') as queued, count(*) filter (where state = 'running') as running,
  count(*) filter (where state = 'delayed') as delayed, count(*) filter (where state = 'dead') as dead,
  coalesce(ceil(extract(epoch from now() - min(run_at)
    filter (where state in ('queued', 'delayed') and run_at <= now())) * 1000)::bigint, 0) as "oldestMs"
from job group by lane`;

/** Inserts jobs into the table, within the caller's transaction if `sql` is one. The commit wakes the lanes. */
export async function enqueueJobs(sql: Sql, requests: readonly JobRequest[]): Promise<void> {
  const newest = [...newestOfEach(requests)];
  for (let from = 0; from < newest.length; from += ENQUEUE_BATCH) {
    const batch = newest.slice(from, from + ENQUEUE_BATCH);
    const columns = [
      batch.map((request) => request.lane),
      batch.map((request) => request.dataset),
      batch.map((request) => laneRank(request.lane)),
      batch.map((request) => request.owner),
      batch.map((request) => request.eventId),
      batch.map((request) => request.source),
    ];
    await sql.query(ENQUEUE, columns, 'job-enqueue');
  }
}

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
  /** Number of lease releases that this process knows of. */
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
    const limit = this.#instance.connected ? claim.limit : 0;
    if (done.length === 0 && limit <= 0) return [];
    const releases = this.#releases;
    try {
      const afterOwner = this.#lastOwners.get(claim.lane);
      const fetched = await completeAndFetchJobs(this.#db, this.#instance.id, done, { ...claim, limit, afterOwner });
      for (const { job, outcome } of done)
        if (outcome.kind === 'retry') this.#wakeAfter(job.lane, Math.ceil(outcome.delayMs));
      const last = fetched.claimed.at(-1);
      if (last) this.#lastOwners.set(claim.lane, last.owner);
      if (limit > 0) this.#noteLook(claim.lane, fetched, releases);
      return fetched.claimed;
    } finally {
      // The lane that made this claim has already seen the leases that its own completions released.
      if (done.length > 0) this.#noteRelease(limit > 0 ? claim.lane : undefined);
    }
  }

  watch(lane: LaneName, wake: () => void): () => void {
    const wakes = this.#wakes.get(lane) ?? new Set();
    const mine = (): void => wake();
    this.#wakes.set(lane, wakes.add(mine));
    const stops = [
      this.#instance.listen(JOB_CHANNEL, (payload) => {
        if (payload === undefined || payload === lane) mine();
      }),
      this.#instance.listen(LEASE_CHANNEL, (payload) => {
        if (payload === String(this.#instance.id)) return;
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

  #noteRelease(seenBy: LaneName | undefined): void {
    this.#releases++;
    for (const lane of this.#blocked) if (lane !== seenBy) this.#wake(lane);
  }

  #noteLook(lane: LaneName, { blocked, nextDueMs }: Fetched, releasesBefore: number): void {
    if (nextDueMs !== undefined) this.#wakeAfter(lane, nextDueMs);
    if (!blocked) {
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

/** One request per lane and dataset, the one with the newest event. */
function newestOfEach(requests: readonly JobRequest[]): Iterable<JobRequest> {
  const newest = new Map<string, JobRequest>();
  for (const request of requests) {
    const key = `${request.lane} ${request.dataset}`;
    const known = newest.get(key);
    if (!known || known.eventId <= request.eventId) newest.set(key, request);
  }
  return newest.values();
}
