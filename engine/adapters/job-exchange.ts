// The statement that writes completions and claims jobs in one round trip.
//
// Every part sees the rows as they were when the statement began, so a dataset whose job it completes is claimed by a
// later one. Locks: rows that must be written are locked in the order of names (leases, then jobs), rows that would
// merely be welcome are skipped when locked; so statements of different processes never wait in a ring.
//
//   $1 instance  $2 lane  $3 limit  $4 types claimed last  $5 types not claimed
//   completions: $6 job ids  $7 datasets  $8 tokens  $9 outcomes  $10 delays (ms)  $11 counted  $12 kinds  $13 messages

import type { LaneName } from '../model/event.ts';
import type { DatasetId, UserId } from '../model/ids.ts';
import type { ClaimedJob, ClaimRequest, JobCompletion, JobOutcome } from '../ports/jobs.ts';
import { LEASE_CHANNEL, LEASE_TIME } from './leases-postgres.ts';
import type { Postgres } from './postgres.ts';
import { storableText } from './storable-text.ts';

/** Heard with the lane's name when it may have claimable jobs. */
export const JOB_CHANNEL = 'longshore_job';

/** Deaths of its thread while it ran alone, after which a job is dead. */
const CRASHES_ALONE = 3;
const CRASHED_MESSAGE = `its worker died ${CRASHES_ALONE} times while it ran alone`;

// `offset 0` keeps these two a look-up per candidate: as a join the planner may read all leases and all jobs.

// A delayed job holds back those of higher rank until it is done or dead: the order of one dataset's jobs is a promise.
const FIRST_OF_DATASET = `not exists (
  select from job lower where lower.dataset_id = j.dataset_id and lower.rank < j.rank and lower.state <> 'dead' offset 0)`;

const LEASE_IS_FREE = `not exists (
  select from lease l where l.name = j.dataset_id and l.holder is not null and l.expires_at > now()
    and (l.holder = $1 or l.holder in (select id from alive_instance)) offset 0)`;

const CLAIMABLE = `j.dataset_id <> all($7::text[]) and ${FIRST_OF_DATASET} and ${LEASE_IS_FREE}`;

const WAITING = `j.lane = $2 and j.state in ('queued', 'delayed') and j.run_at <= now()`;

const EXCHANGE = `
with finished as materialized (
  select * from unnest($6::bigint[], $7::text[], $8::bigint[], $9::text[], $10::float8[], $11::boolean[], $12::text[],
    $13::text[]) as f(id, dataset_id, token, outcome, delay_ms, counted, kind, said)),
-- Fencing: a completion whose lease has gone to somebody else is not written.
held as materialized (
  select l.name from lease l join finished f on l.name = f.dataset_id and l.token = f.token
  where l.holder = $1
  order by l.name for update of l),
ended as materialized (
  select j.id, f.outcome, f.delay_ms, f.counted, f.kind, f.said,
    f.outcome = 'done' and not j.again as gone,
    f.outcome = 'dead' or (f.outcome = 'crash' and j.alone and j.crashes + 1 >= ${CRASHES_ALONE}) as dies
  from job j join finished f on j.id = f.id and j.token = f.token join held h on h.name = j.dataset_id
  where j.state = 'running' and j.holder = $1
  order by j.dataset_id, j.lane for update of j),
released as (
  update lease l set holder = null, expires_at = now() from held where l.name = held.name returning l.name),
removed as (
  delete from job j using ended e where j.id = e.id and e.gone),
kept as (
  update job j set
    state = case when e.dies then 'dead' when e.outcome = 'retry' then 'delayed' else 'queued' end,
    again = j.again and e.dies,
    alone = case e.outcome when 'crash' then true when 'requeue' then j.alone else false end,
    tries = case e.outcome when 'done' then 0 when 'retry' then j.tries + e.counted::integer
      when 'dead' then j.tries + 1 else j.tries end,
    crashes = case when e.outcome = 'done' then 0 when e.outcome = 'crash' and j.alone then j.crashes + 1
      else j.crashes end,
    -- What was put back keeps its place in the queue.
    run_at = case e.outcome when 'retry' then now() + e.delay_ms * interval '1 millisecond'
      when 'requeue' then j.run_at else now() end,
    failure = case when e.outcome = 'done' then null when e.outcome = 'crash' and e.dies then 'defect'
      when e.outcome in ('retry', 'dead') then e.kind else j.failure end,
    message = case when e.outcome = 'done' then null when e.outcome = 'crash' and e.dies then '${CRASHED_MESSAGE}'
      when e.outcome in ('retry', 'dead') then e.said else j.message end,
    holder = null, token = null, claimed_at = null
  from ended e where j.id = e.id and not e.gone
  returning j.lane, j.state),
-- Running in name only: its lease expired, or its process died. No blame: it is claimed as it was.
abandoned as materialized (
  select j.id, j.dataset_id from job j
  where j.lane = $2 and j.state = 'running' and (j.type is null or j.type <> all($5::text[]))
    and ${CLAIMABLE}
  order by j.id limit $3::bigint for update of j skip locked),
others as materialized (
  select j.id, j.dataset_id from job j
  where ${WAITING} and (j.type is null or j.type <> all($4::text[]) and j.type <> all($5::text[]))
    and ${CLAIMABLE}
  order by j.run_at, j.id limit $3 - (select count(*) from abandoned) for update of j skip locked),
crowded as materialized (
  select j.id, j.dataset_id from job j
  where cardinality($4::text[]) > 0 and ${WAITING} and j.type = any($4::text[]) and j.type <> all($5::text[])
    and ${CLAIMABLE}
  order by j.run_at, j.id limit $3 - (select count(*) from abandoned) - (select count(*) from others)
  for update of j skip locked),
candidate as materialized (
  select *, 0 as turn from abandoned union all select *, 1 from others union all select *, 2 from crowded),
-- The lease decides between processes that want the same dataset, on the row as it is now.
free as materialized (
  select l.name from lease l join candidate c on l.name = c.dataset_id
  where l.holder is null or l.expires_at <= now() or (l.holder <> $1 and not instance_alive(l.holder))
  for update of l skip locked),
retaken as (
  update lease l set holder = $1, token = l.token + 1, expires_at = now() + ${LEASE_TIME}
  from free where l.name = free.name
  returning l.name, l.token),
first_taken as (
  insert into lease (name, holder, token, expires_at)
  select c.dataset_id, $1, 1, now() + ${LEASE_TIME} from candidate c
  where not exists (select from lease l where l.name = c.dataset_id offset 0)
  order by c.dataset_id
  on conflict (name) do nothing
  returning name, token),
claimed as (
  update job j set state = 'running', holder = $1, token = t.token, claimed_at = now(), again = false
  from candidate c join (select * from retaken union all select * from first_taken) t on t.name = c.dataset_id
  where j.id = c.id
  returning j.id, j.dataset_id, j.owner, j.event_id, j.source, j.type, j.tries, j.crashes, j.alone, j.run_at, j.token,
    c.turn),
woken as materialized (
  select pg_notify('${JOB_CHANNEL}', k.lane) from (select distinct lane from kept where state = 'queued') k
  union all
  select pg_notify('${LEASE_CHANNEL}', '') from (select from released limit 1) r),
lane_now as materialized (
  select (select count(*) from woken) as woken,
    -- There was room for more, and more is due than was claimed: something keeps it waiting.
    (select count(*) from claimed) < $3 and (select count(*) from (select from job j where ${WAITING} limit $3) due)
      > (select count(*) from claimed where turn > 0) as blocked,
    (select ceil(extract(epoch from min(j.run_at) - now()) * 1000)::bigint from job j
      where $3 > 0 and j.lane = $2 and j.state in ('queued', 'delayed') and j.run_at > now()) as next_due_ms)
select n.blocked, n.next_due_ms, c.id, c.dataset_id, c.owner, c.event_id, c.source, c.type, c.tries, c.crashes, c.alone,
  c.token, ceil(extract(epoch from now() - c.run_at) * 1000)::bigint as waited_ms
from lane_now n left join claimed c on true
order by c.turn, c.run_at, c.id`;

interface ExchangeRow {
  readonly blocked: boolean;
  readonly next_due_ms: number | null;
  readonly id: number | null;
  readonly dataset_id: DatasetId;
  readonly owner: UserId;
  readonly event_id: number;
  readonly source: ClaimedJob['source'];
  readonly type: string | null;
  readonly tries: number;
  readonly crashes: number;
  readonly alone: boolean;
  readonly token: number;
  readonly waited_ms: number;
}

export interface JobExchange {
  readonly claimed: readonly ClaimedJob[];
  /** The claim left room and due jobs behind: something keeps them waiting. */
  readonly blocked: boolean;
  /** Milliseconds until the lane's next delayed job falls due, as of before the statement. */
  readonly nextDueMs: number | undefined;
}

/** Writes the completions of one process instance and claims for it. */
export async function exchangeJobs(
  db: Postgres,
  instance: number,
  done: readonly JobCompletion[],
  claim: ClaimRequest,
): Promise<JobExchange> {
  const rows = await db.query<ExchangeRow>(
    EXCHANGE,
    [instance, claim.lane, claim.limit, claim.crowdedTypes, claim.blockedTypes, ...completionColumns(done)],
    'job-exchange',
  );
  return {
    claimed: rows.flatMap((row) => (row.id === null ? [] : [claimedJob(claim.lane, row.id, row)])),
    blocked: rows[0]?.blocked ?? false,
    nextDueMs: rows[0]?.next_due_ms ?? undefined,
  };
}

/** Completions as one array per column, as the statement takes them. */
function completionColumns(done: readonly JobCompletion[]): readonly unknown[] {
  const outcomes = done.map(({ outcome }) => outcomeColumns(outcome));
  return [
    done.map(({ job }) => job.id),
    done.map(({ job }) => job.dataset),
    done.map(({ job }) => job.lease.token),
    outcomes.map((one) => one.outcome),
    outcomes.map((one) => one.delayMs),
    outcomes.map((one) => one.counted),
    outcomes.map((one) => one.kind),
    outcomes.map((one) => one.said),
  ];
}

function outcomeColumns(outcome: JobOutcome) {
  const none = { delayMs: 0, counted: false, kind: null, said: null };
  switch (outcome.kind) {
    case 'done':
      return { ...none, outcome: 'done' };
    case 'retry':
      return {
        outcome: 'retry',
        delayMs: outcome.delayMs,
        counted: outcome.countTry,
        kind: 'transient',
        said: storableText(outcome.message),
      };
    case 'requeue':
      return { ...none, outcome: outcome.crashed ? 'crash' : 'requeue' };
    case 'dead':
      return { ...none, outcome: 'dead', kind: outcome.failure, said: storableText(outcome.message) };
    default:
      return outcome satisfies never;
  }
}

function claimedJob(lane: LaneName, id: number, row: ExchangeRow): ClaimedJob {
  return {
    id,
    lane,
    dataset: row.dataset_id,
    owner: row.owner,
    eventId: row.event_id,
    source: row.source,
    tries: row.tries,
    crashes: row.crashes,
    alone: row.alone,
    type: row.type ?? undefined,
    lease: { name: row.dataset_id, token: row.token },
    waitedMs: row.waited_ms,
  };
}
