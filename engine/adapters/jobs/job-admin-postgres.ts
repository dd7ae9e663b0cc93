// The job table for administrators, on PostgreSQL.

import type { LaneName } from '../../model/event.ts';
import type { DatasetId, UserId } from '../../model/ids.ts';
import type { JobAdmin, JobFilter, JobList, JobPage, JobState, RetryResult } from '../../ports/jobs.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { JOB_CHANNEL } from './enqueue-jobs.ts';

/** Returns at least one row: when the page is empty, a row without a job holds the total. A dead job's run_at is infinite. */
const LIST = `
with matching as (
  select count(*) as total from job where ($1::text is null or lane = $1) and ($2::text is null or state = $2))
select m.total, j.* from matching m left join lateral (
  select id, lane, dataset_id, owner::text as owner, state, attempts, event_id, message,
    nullif(run_at, 'infinity') as run_at, created_at
  from job where ($1::text is null or lane = $1) and ($2::text is null or state = $2)
  order by id limit $3 offset $4) j on true
order by j.id`;

/**
 * The job's row is locked until the statement ends. Its lane cannot claim the job meanwhile, so nobody else writes the statuses
 * that are reset here. We reset only statuses that show the job's failure. `started` is kept: the install may have begun.
 */
const RETRY = `
with found as materialized (
  select id, state from job where id = $1 for update),
retried as (
  update job j set state = 'queued', run_at = now(), failure = null, message = null, attempts = 0, crashes = 0,
    alone = false, again = false
  from found f where j.id = f.id and f.state in ('delayed', 'dead')
  returning j.lane, j.dataset_id),
reopened_import as (
  update dataset d set import_status = 'queued', import_messages = '{}'
  from retried r where d.dataset_id = r.dataset_id and r.lane = 'import' and d.import_status = 'failed'),
reopened_upload as (
  update dataset d set upload_status = 'running', upload_message = null
  from retried r where d.dataset_id = r.dataset_id and r.lane = 'upload' and d.upload_status = 'failed'),
due_attempts as (
  update install_attempt a set not_before = null, attempts = 0
  from retried r
  where a.dataset_id = r.dataset_id
    and a.kind = case r.lane when 'install' then 'data' when 'updateMeta' then 'meta' end),
notified as materialized (
  select pg_notify('${JOB_CHANNEL}', lane) from retried)
select f.state, (select count(*) from notified) as notifications from found f`;

const DEAD = `select id from job where dataset_id = $1 and lane = $2 and state = 'dead'`;

interface ListRow {
  readonly total: number;
  readonly id: number | null;
  readonly lane: LaneName;
  readonly dataset_id: DatasetId;
  readonly owner: UserId;
  readonly state: JobState;
  readonly attempts: number;
  readonly event_id: number;
  readonly message: string | null;
  readonly run_at: Date | null;
  readonly created_at: Date;
}

export class PostgresJobAdmin implements JobAdmin {
  readonly #db: Pick<Postgres, 'query'>;

  constructor(db: Pick<Postgres, 'query'>) {
    this.#db = db;
  }

  async list(filter: JobFilter, page: JobPage, signal: AbortSignal): Promise<JobList> {
    signal.throwIfAborted();
    const values = [filter.lane ?? null, filter.state ?? null, page.limit, page.offset];
    const rows = await this.#db.query<ListRow>(LIST, values, 'job-list');
    return {
      total: rows[0]?.total ?? 0,
      jobs: rows.flatMap(({ id, ...row }) =>
        id === null
          ? []
          : {
              id,
              lane: row.lane,
              dataset: row.dataset_id,
              owner: row.owner,
              state: row.state,
              attempts: row.attempts,
              eventId: row.event_id,
              message: row.message ?? undefined,
              runAt: row.run_at ?? undefined,
              created: row.created_at,
            },
      ),
    };
  }

  async retry(id: number, signal: AbortSignal): Promise<RetryResult> {
    signal.throwIfAborted();
    const [found] = await this.#db.query<{ state: JobState }>(RETRY, [id], 'job-retry');
    if (!found) return 'not-found';
    return found.state === 'running' ? 'running' : 'queued';
  }

  async revive(lane: LaneName, dataset: DatasetId, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const [dead] = await this.#db.query<{ id: number }>(DEAD, [dataset, lane], 'job-dead');
    return dead !== undefined && (await this.retry(dead.id, signal)) === 'queued';
  }
}
