// The collections of users in PostgreSQL.

import type { UserId } from '../../model/ids.ts';
import type { QueryJobId } from '../../model/report/query-job.ts';
import type { ReportJobId } from '../../model/report/report-job-id.ts';
import type { ReportStatus, UserMetaChange } from '../../model/report-job.ts';
import type { CollectedReport, ReportCollections } from '../../ports/report-collections.ts';
import type { Postgres } from '../postgres.ts';
import { SqlParameters } from '../sql-parameters.ts';
import { type MetaRow, metaOf } from './job-row.ts';
import { textOrNull } from './links.ts';

/** Links in memory at once: a note may be long. */
const PAGE = 500;

type LinkRow = MetaRow & {
  readonly link_id: number;
  readonly report_id: ReportJobId;
  readonly query_id: QueryJobId;
  readonly status: ReportStatus;
};

export class PostgresReportCollections implements ReportCollections {
  readonly #db: Postgres;

  constructor(db: Postgres) {
    this.#db = db;
  }

  async *list(
    user: UserId,
    { queryId }: { readonly queryId?: QueryJobId | undefined },
    signal: AbortSignal,
  ): AsyncGenerator<CollectedReport> {
    for (let before: number | undefined; ; ) {
      signal.throwIfAborted();
      const { text, values } = pageStatement(user, queryId, before);
      const rows = await this.#db.query<LinkRow>(text, values);
      for (const row of rows) yield { id: row.report_id, queryId: row.query_id, status: row.status, meta: metaOf(row) };
      const last = rows.at(-1);
      if (!last || rows.length < PAGE) return;
      before = last.link_id;
    }
  }

  async annotate(
    user: UserId,
    id: ReportJobId,
    { summary, description }: UserMetaChange,
    signal: AbortSignal,
  ): Promise<boolean> {
    signal.throwIfAborted();
    const rows = await this.#db.query(
      `update collection set summary = case when $3 then $4 else summary end,
         description = case when $5 then $6 else description end
       where user_id = $1 and report_id = $2 returning link_id`,
      [user, id, summary !== undefined, textOrNull(summary), description !== undefined, textOrNull(description)],
    );
    return rows.length > 0;
  }

  async remove(user: UserId, id: ReportJobId, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const rows = await this.#db.query(
      'delete from collection where user_id = $1 and report_id = $2 returning link_id',
      [user, id],
    );
    return rows.length > 0;
  }
}

function pageStatement(user: UserId, queryId: QueryJobId | undefined, before: number | undefined) {
  const parameters = new SqlParameters();
  const conditions = [`user_id = ${parameters.add(user, 'numeric')}`];
  if (queryId !== undefined) conditions.push(`query_id = ${parameters.add(queryId, 'text')}`);
  if (before !== undefined) conditions.push(`link_id < ${parameters.add(before, 'bigint')}`);
  // Each job is looked up by itself, from an index: a join of many would read the whole table of jobs.
  const text = `
    select c.link_id, c.report_id, c.query_id, c.summary, c.description, j.status
    from (select * from collection where ${conditions.join(' and ')} order by link_id desc limit ${PAGE}) c
    cross join lateral (select status from report_job where id = c.report_id limit 1) j
    order by c.link_id desc`;
  return { text, values: parameters.values };
}
