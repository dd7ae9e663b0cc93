// Puts delayed and dead jobs back into their lanes, and queues new jobs for failed uploads and imports that have none.

import type { LaneName } from '../../model/event.ts';
import { laneRank } from '../../model/event.ts';
import type { DatasetId } from '../../model/ids.ts';
import type { JobState } from '../../ports/jobs.ts';
import type { ProblemKey } from '../../ports/problems.ts';
import type { Sql } from '../postgres/postgres.ts';
import { discardsOver, JOB_CHANNEL } from './enqueue-jobs.ts';

const BY_ID = `select id, lane, dataset_id, state from job where id = $1 for update`;
/** Locks in the same order as completions. A job that is locked is being claimed, completed or retried. */
const BY_KEY = `
  select j.id, j.lane, j.dataset_id, j.state
  from unnest($1::text[], $2::text[]) as a(lane, dataset_id) join job j on j.dataset_id = a.dataset_id and j.lane = a.lane
  order by j.dataset_id collate "C", j.lane for update of j skip locked`;

/**
 * The jobs' rows are locked until the transaction ends. Their lanes cannot claim them meanwhile, so nobody else writes the
 * statuses that are reset here. We reset only statuses that show the job's failure. `started` is kept: the install may have
 * begun.
 */
const retryStatement = (found: string, ownerRetried: string): string => `
with found as materialized (${found}),
retried as (
  update job j set state = 'queued', run_at = now(), failure = null, message = null, attempts = 0, crashes = 0,
    alone = false, again = false
  from found f where j.id = f.id and f.state in ('delayed', 'dead')
  returning j.lane, j.dataset_id),
reopened as (
  update dataset d set
    import_status = case when r.import and d.import_status = 'failed' then 'queued' else d.import_status end,
    import_messages = case when r.import and d.import_status = 'failed' then '{}' else d.import_messages end,
    upload_status = case when r.upload and d.upload_status = 'failed' then 'running' else d.upload_status end,
    upload_message = case when r.upload and d.upload_status = 'failed' then null else d.upload_message end,
    owner_retried = ${ownerRetried}
  from (select dataset_id, bool_or(lane = 'import') as import, bool_or(lane = 'upload') as upload from retried group by 1) r
  where d.dataset_id = r.dataset_id and (r.import and d.import_status = 'failed' or r.upload and d.upload_status = 'failed')),
due_attempts as (
  update install_attempt a set not_before = null, attempts = 0
  from retried r
  where a.dataset_id = r.dataset_id
    and a.kind = case r.lane when 'install' then 'data' when 'updateMeta' then 'meta' end),
notified as materialized (
  select pg_notify('${JOB_CHANNEL}', lane) from (select distinct lane from retried) l)
select f.lane, f.dataset_id, f.state, (select count(*) from notified) as notifications from found f`;

const RETRY_ID = retryStatement(BY_ID, 'null');
const RETRY_KEYS = retryStatement(BY_KEY, "case when $3 then case when r.upload then 'upload' else 'import' end end");

/** Failed uploads and imports whose job is gone. An upload can only be retried while its files are there. */
const RETRY_LOST = `
with lost as materialized (
  select a.lane, a.rank, d.dataset_id, d.owner_id, d.type_name || ':' || d.type_version as type, d.traceparent,
    a.lane = 'import' or exists (
      select from upload u where u.accepted_id = d.dataset_id and u.state = 'accepted') as has_files
  from unnest($1::text[], $2::text[], $3::smallint[]) as a(lane, dataset_id, rank)
  join dataset d on d.dataset_id = a.dataset_id
  where d.state = 'live'
    and (a.lane = 'import' and d.import_status = 'failed' or a.lane = 'upload' and d.upload_status = 'failed')
    and not exists (select from job j where j.dataset_id = a.dataset_id and j.lane = a.lane)
  order by d.dataset_id for update of d skip locked),
reopened as (
  update dataset d set
    import_status = case l.lane when 'import' then 'queued' else d.import_status end,
    import_messages = case l.lane when 'import' then '{}' else d.import_messages end,
    upload_status = case l.lane when 'upload' then 'running' else d.upload_status end,
    upload_message = case l.lane when 'upload' then null else d.upload_message end,
    owner_retried = case when $6 then l.lane end
  from lost l where d.dataset_id = l.dataset_id and l.has_files),
queued as (
  insert into job (lane, dataset_id, rank, owner, event_id, source, type, traceparent)
  select lane, dataset_id, rank, owner_id, $4, $5, type, traceparent from lost where has_files
  on conflict do nothing returning dataset_id, lane),
${discardsOver('queued')},
notified as materialized (select pg_notify('${JOB_CHANNEL}', lane) from (select distinct lane from queued) l)
select l.lane, l.dataset_id, l.has_files, (select count(*) from notified) as notifications from lost l`;

interface RetriedRow {
  readonly lane: LaneName;
  readonly dataset_id: DatasetId;
  /** Before the retry. */
  readonly state: JobState;
}

interface LostRow {
  readonly lane: LaneName;
  readonly dataset_id: DatasetId;
  readonly has_files: boolean;
}

/** Returns the job's state before the retry; undefined when there is no such job. */
export async function retryJob(sql: Sql, id: number): Promise<JobState | undefined> {
  const [found] = await sql.query<RetriedRow>(RETRY_ID, [id], 'job-retry');
  return found?.state;
}

/** Returns the jobs that were not locked, with their state before the retry. @param byOwner whether the owner retries them */
export const retryJobs = (sql: Sql, keys: readonly ProblemKey[], byOwner: boolean): Promise<readonly RetriedRow[]> =>
  sql.query<RetriedRow>(RETRY_KEYS, [...columnsOf(keys), byOwner], 'job-retry-many');

/** Retries failed uploads and imports that have no job. Skips datasets whose rows are locked. */
export const retryLost = (
  sql: Sql,
  keys: readonly ProblemKey[],
  eventId: number,
  byOwner: boolean,
): Promise<readonly LostRow[]> =>
  sql.query<LostRow>(
    RETRY_LOST,
    [...columnsOf(keys), keys.map(({ lane }) => laneRank(lane)), eventId, byOwner ? 'api' : 'admin', byOwner],
    'job-retry-lost',
  );

export const columnsOf = (keys: readonly ProblemKey[]): readonly [readonly string[], readonly string[]] => [
  keys.map(({ lane }) => lane),
  keys.map(({ dataset }) => dataset),
];
