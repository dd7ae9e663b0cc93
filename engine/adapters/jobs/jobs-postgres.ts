// The job table on PostgreSQL. Claiming and completing are one round trip (job-exchange.ts); waking is here.
//
// A lane is woken by: a job enqueued for it or put back; a lease released anywhere, when its last claim left due jobs
// behind (release-pace.ts says how often it looks, release-notices.ts how often it tells the other processes); the time at
// which its earliest delayed job falls due, as far as this process has seen it; and whenever notifications may have been missed. What no process can notice in time, a claim by a slow
// poll of the lane finds: jobs of a process that died, and delayed jobs of a process that died.

import { LANES, type LaneName, laneRank } from '../../model/event.ts';
import type { DatasetId, UserId } from '../../model/ids.ts';
import type { ClaimedJob, ClaimRequest, JobCompletion, JobRequest, Jobs, LaneDepth } from '../../ports/jobs.ts';
import type { Clock } from '../../runtime/time.ts';
import { LEASE_CHANNEL } from '../postgres/leases-postgres.ts';
import type { Postgres, Sql } from '../postgres/postgres.ts';
import type { PostgresInstance } from '../postgres/postgres-instance.ts';
import { exchangeJobs, type JobExchange } from './job-exchange.ts';
import { OldestJobs } from './oldest-jobs.ts';
import { ReleaseNotices } from './release-notices.ts';
import { ReleasePace } from './release-pace.ts';

/** Heard with the lane's name when it may have claimable jobs; swap_jobs notifies it, too. */
export const JOB_CHANNEL = 'longshore_job';
/** Requests in one statement; more are sent in turn. */
const ENQUEUE_BATCH = 5_000;
/** Timers cannot wait longer than 24 days; looking once a day costs nothing. */
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

const TELL = `select pg_notify('${LEASE_CHANNEL}', $1::integer::text)`;

const DEPTHS = `
select lane,
  count(*) filter (where state = 'queued') as queued, count(*) filter (where state = 'running') as running,
  count(*) filter (where state = 'delayed') as delayed, count(*) filter (where state = 'dead') as dead,
  coalesce(ceil(extract(epoch from now() - min(run_at)
    filter (where state in ('queued', 'delayed') and run_at <= now())) * 1000)::bigint, 0) as "oldestMs"
from job group by lane`;

/** Puts jobs into the table, within the caller's transaction when `sql` is one; lanes are woken by the commit. */
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

export class PostgresJobs implements Jobs, AsyncDisposable {
  readonly #db: Postgres;
  readonly #instance: PostgresInstance;
  readonly #clock: Clock;
  readonly #wakes = new Map<LaneName, Set<() => void>>();
  readonly #alarms = new Map<LaneName, { readonly at: number; readonly cancel: () => void }>();
  /** Lanes whose last claim left due jobs behind. */
  readonly #blocked = new Set<LaneName>();
  readonly #paces = new Map<LaneName, ReleasePace>();
  /** Of the last job claimed: where the owners that come after it have their turn next. */
  readonly #lastOwners = new Map<LaneName, UserId>();
  readonly #oldest: OldestJobs;
  readonly #notices: ReleaseNotices;
  /** Exchanges of one lane share a connection: the next may be sent before the last is answered. */
  readonly #lines = new Map<LaneName, Sql>();
  /** Times at which leases were released, by this process or as far as it was told. */
  #releases = 0;

  constructor(db: Postgres, instance: PostgresInstance, clock: Clock) {
    this.#db = db;
    this.#instance = instance;
    this.#clock = clock;
    this.#oldest = new OldestJobs(clock);
    this.#notices = new ReleaseNotices(clock, () => db.query(TELL, [instance.id]));
  }

  async enqueue(requests: readonly JobRequest[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await enqueueJobs(this.#db, requests);
  }

  /**
   * A lane that lost a lease without noticing may be given the same job again, with a higher token. After a failure it
   * is not known whether the statement was carried out: give the same completions again, those written are ignored.
   */
  async exchange(
    done: readonly JobCompletion[],
    claim: ClaimRequest,
    signal: AbortSignal,
  ): Promise<readonly ClaimedJob[]> {
    signal.throwIfAborted();
    // Others would take jobs claimed now for a dead process's.
    const limit = this.#instance.connected ? claim.limit : 0;
    if (done.length === 0 && limit <= 0) return [];
    const releases = this.#releases;
    const from = this.#oldest.of(claim.lane);
    const tell = done.length > 0 && this.#notices.now();
    try {
      const exchange = await exchangeJobs(
        this.#lineOf(claim.lane),
        this.#instance.id,
        done,
        { ...claim, limit },
        { from, tell, afterOwner: this.#lastOwners.get(claim.lane) },
      );
      for (const { job, outcome } of done)
        if (outcome.kind === 'retry') this.#wakeAfter(job.lane, Math.ceil(outcome.delayMs));
      const { claimed, oldest } = exchange;
      const last = claimed.at(-1);
      if (last) this.#lastOwners.set(claim.lane, last.owner);
      if (limit > 0) {
        this.#looked(claim.lane, exchange, releases);
        const byOwner = (claim.withheldOwners?.length ?? 0) + (claim.crowdedOwners?.length ?? 0) > 0;
        if (!byOwner && this.#oldest.claimed(claim.lane, from, oldest, limit, claimed.length)) this.#wake(claim.lane);
      }
      return claimed;
    } finally {
      // A claim sees what its own completions released.
      if (done.length > 0) this.#released(tell, limit > 0 ? claim.lane : undefined);
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
        if (this.#blocked.has(lane)) this.#lookAgain(lane);
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

  /** What the last completions released is told, if it was not yet; lanes must have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#notices[Symbol.asyncDispose]();
  }

  #released(tell: boolean, seenBy: LaneName | undefined): void {
    if (!tell) this.#notices.owe();
    this.#releases++;
    for (const lane of this.#blocked) if (lane !== seenBy) this.#lookAgain(lane);
  }

  #lineOf(lane: LaneName): Sql {
    const line = this.#lines.get(lane) ?? this.#db.pipeline();
    this.#lines.set(lane, line);
    return line;
  }

  #looked(lane: LaneName, { blocked, nextDueMs }: JobExchange, releasesBefore: number): void {
    if (nextDueMs !== undefined) this.#wakeAfter(lane, nextDueMs);
    if (!blocked) {
      this.#blocked.delete(lane);
      return;
    }
    this.#blocked.add(lane);
    // The release that these jobs wait for may have been heard while the statement ran.
    if (this.#releases !== releasesBefore) this.#lookAgain(lane);
  }

  /** A lease was released, which may be the one that a job of the lane waits for. */
  #lookAgain(lane: LaneName): void {
    const now = this.#clock.now();
    const alarm = this.#alarms.get(lane);
    // It will look soon enough.
    if (alarm && alarm.at - now <= ReleasePace.longestMs) return;
    const pace = this.#paces.get(lane) ?? new ReleasePace();
    this.#paces.set(lane, pace);
    const waitMs = pace.take(now);
    if (waitMs > 0) this.#wakeAfter(lane, waitMs);
    else this.#wake(lane);
  }

  /** The earliest time wins; one that has become too early costs the lane a look for nothing. */
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
