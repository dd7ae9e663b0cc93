// Inserts jobs into the job table: many at once, or those that a statement of another adapter makes due, in that statement.

import { laneRank, REPEATING_SOURCES } from '../../model/event.ts';
import type { JobRequest } from '../../ports/jobs.ts';
import type { Sql } from '../postgres/postgres.ts';
import type { SqlParameters } from '../postgres/sql-parameters.ts';

/** Notified with the name of a lane that may have claimable jobs; complete_and_fetch_jobs notifies it, too. */
export const JOB_CHANNEL = 'longshore_job';
/** Most requests in one statement. */
const ENQUEUE_BATCH = 5_000;

/** A dataset has at most one job per lane. It absorbs further requests, which also make a job due that waits for a pause. */
const MERGE = `
  on conflict (dataset_id, lane) do update set
    again = j.again or j.state in ('running', 'dead'),
    run_at = case when j.state = 'delayed' and waits_for_pause(j.dataset_id, j.lane) then now() else j.run_at end,
    event_id = greatest(j.event_id, excluded.event_id),
    source = case when excluded.event_id >= j.event_id then excluded.source else j.source end,
    owner = excluded.owner,
    type = coalesce(excluded.type, j.type),
    traceparent = coalesce(excluded.traceparent, j.traceparent)`;

const IS_DUE = `(j.state = 'queued' or j.state = 'delayed' and j.run_at <= now())`;

/** A CTE that ends the discards of the jobs in the CTE `requested`. */
export const discardsOver = (requested: string): string => `${requested}_anew as (
    delete from discard x using ${requested} r where x.dataset_id = r.dataset_id and x.lane = r.lane and x.target_id = '')`;

const ENQUEUE = `
with upserted as (
  insert into job as j (lane, dataset_id, rank, owner, event_id, source, type, traceparent)
  select r.lane, r.dataset_id, r.rank, r.owner::numeric, r.event_id, r.source, d.type_name || ':' || d.type_version, d.traceparent
  from unnest($1::text[], $2::text[], $3::smallint[], $4::text[], $5::bigint[], $6::text[])
    as r(lane, dataset_id, rank, owner, event_id, source)
  left join dataset d on d.dataset_id = r.dataset_id
  where not (r.source = any($7::text[]) and exists (
    select from discard x where x.dataset_id = r.dataset_id and x.lane = r.lane and x.target_id = ''))
  -- The order in which completions lock the same rows.
  order by r.dataset_id collate "C", r.lane
  ${MERGE}
  returning j.dataset_id, j.lane, ${IS_DUE} as due),
${discardsOver('upserted')}
select pg_notify('${JOB_CHANNEL}', u.lane) from (select distinct lane from upserted where due) u`;

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
      REPEATING_SOURCES,
    ];
    await sql.query(ENQUEUE, columns, 'job-enqueue');
  }
}

/**
 * A CTE called `name` that inserts one job of a dataset, and returns its lane and whether it is due. A second CTE ends the job's
 * discard.
 * @param from `from` clause with one row when the job is due, none otherwise
 * @param columns SQL expressions over that row
 */
export function enqueueCte(
  name: string,
  { lane, eventId, source }: Pick<JobRequest, 'lane' | 'eventId' | 'source'>,
  from: string,
  columns: Readonly<Record<'dataset' | 'owner' | 'type' | 'traceparent', string>>,
  parameters: SqlParameters,
): string {
  const values = [
    parameters.add(lane, 'text'),
    columns.dataset,
    parameters.add(laneRank(lane), 'smallint'),
    columns.owner,
    parameters.add(eventId, 'bigint'),
    parameters.add(source, 'text'),
    columns.type,
    columns.traceparent,
  ];
  return `${name} as (
    insert into job as j (lane, dataset_id, rank, owner, event_id, source, type, traceparent)
    select ${values.join(', ')} from ${from}${MERGE}
    returning j.dataset_id, j.lane, ${IS_DUE} as due),
  ${discardsOver(name)}`;
}

/** An expression that wakes the lane of a job that {@link enqueueCte} inserted. */
export const notifyLanes = (cte: string): string =>
  `(select count(pg_notify('${JOB_CHANNEL}', n.lane)) from ${cte} n where n.due) as notified`;

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
