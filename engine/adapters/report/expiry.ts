// Expiry of report jobs in PostgreSQL. The row expires first, so that nobody is sent to its files any more; then the files are
// removed. A job that is queued again in the meantime writes its files under another attempt.

import type { ReportJobId, ReportStatus } from '../../model/report/report-job.ts';
import type { ReportDebris, ReportExpiry } from '../../ports/report-jobs.ts';
import type { Postgres } from '../postgres/postgres.ts';

// Uses arrays of ids: for a join the planner expects so many rows that it would read whole tables.
const expire = (chosen: string): string => `
with idle as (${chosen}),
files as (
  delete from report_file where report_id = any (array(select id from idle)))
update report_job set status = 'expired', ended_at = null, failure = null, stderr = null, debris_to = attempt
where id = any (array(select id from idle)) returning id`;

const EXPIRE = expire(`
  select id from report_job where status in ('complete', 'failed') and accessed_at <= $1 order by accessed_at, id limit $2
  for no key update skip locked`);

const EXPIRE_ONE = expire(`
  select id from report_job where status in ('complete', 'failed') and id = $1 for no key update`);

export class PostgresReportExpiry implements ReportExpiry {
  readonly #db: Postgres;

  constructor(db: Postgres) {
    this.#db = db;
  }

  async expire(before: Date, limit: number, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    return (await this.#db.query(EXPIRE, [before, limit])).length;
  }

  async expireOne(id: ReportJobId, signal: AbortSignal): Promise<'expired' | 'running' | 'absent'> {
    signal.throwIfAborted();
    if ((await this.#db.query(EXPIRE_ONE, [id])).length > 0) return 'expired';
    const [row] = await this.#db.query<{ status: ReportStatus }>('select status from report_job where id = $1', [id]);
    if (!row) return 'absent';
    return row.status === 'expired' ? 'expired' : 'running';
  }

  async debris(after: ReportJobId | undefined, limit: number, signal: AbortSignal): Promise<readonly ReportDebris[]> {
    signal.throwIfAborted();
    const rows = await this.#db.query<{ id: ReportJobId; debris_to: number }>(
      'select id, debris_to from report_job where debris_to is not null and id > $1 order by id limit $2',
      [after ?? '', limit],
    );
    return rows.map((row) => ({ id: row.id, upTo: row.debris_to }));
  }

  async removed({ id, upTo }: ReportDebris, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#db.query('update report_job set debris_to = null where id = $1 and debris_to = $2', [id, upTo]);
  }
}
