// The job table for administrators, on PostgreSQL.

import type { LaneName } from '../../model/event.ts';
import type { DatasetId, UserId } from '../../model/ids.ts';
import type { JobAdmin, JobFilter, JobList, JobPage, JobState, RetryResult } from '../../ports/jobs.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { retryJob } from './retry-jobs.ts';

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

  async dataset(id: number, signal: AbortSignal): Promise<DatasetId | undefined> {
    signal.throwIfAborted();
    const rows = await this.#db.query<{ dataset: DatasetId }>('select dataset_id as dataset from job where id = $1', [
      id,
    ]);
    return rows[0]?.dataset;
  }

  async retry(id: number, signal: AbortSignal): Promise<RetryResult> {
    signal.throwIfAborted();
    const state = await retryJob(this.#db, id);
    if (!state) return 'not-found';
    return state === 'running' ? 'running' : 'queued';
  }

  async revive(lane: LaneName, dataset: DatasetId, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const [dead] = await this.#db.query<{ id: number }>(DEAD, [dataset, lane], 'job-dead');
    return dead !== undefined && (await this.retry(dead.id, signal)) === 'queued';
  }
}
