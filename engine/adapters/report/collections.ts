// Users' report collections in PostgreSQL.

import type { QueryJobId } from '../../model/report/query-job.ts';
import type { Collector, ReportJobId, ReportStatus, UserMetaChange } from '../../model/report/report-job.ts';
import type { CollectedReport, ReportCollections } from '../../ports/report-jobs.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { boundedPage, type PageRow } from '../postgres/row-pages.ts';
import { SqlParameters } from '../postgres/sql-parameters.ts';
import { type MetaRow, metaOf, textOrNull } from './job-row.ts';

/** Links in memory at once: a note may be long. */
const PAGE = 500;

// One statement, so nothing is lost between delete and insert, and links added to the new collection in the meantime do not
// conflict.
const HAND_OVER = `
with given as (
  delete from collection where user_id = $1 and guest = $2 returning *)
insert into collection as c (user_id, guest, report_id, query_id, summary, description)
select $3, $4, report_id, query_id, summary, description from given order by link_id
on conflict (user_id, guest, report_id) do update set
  summary = coalesce(c.summary, excluded.summary), description = coalesce(c.description, excluded.description)`;

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
    user: Collector,
    { queryId }: { readonly queryId?: QueryJobId | undefined },
    signal: AbortSignal,
  ): AsyncGenerator<CollectedReport> {
    for (let before: number | undefined; ; ) {
      signal.throwIfAborted();
      const { text, values } = pageStatement(user, queryId, before);
      const rows = await this.#db.query<LinkRow & PageRow>(boundedPage(text), values);
      for (const row of rows) yield { id: row.report_id, queryId: row.query_id, status: row.status, meta: metaOf(row) };
      const last = rows.at(-1);
      const found = last?.page_rows ?? 0;
      if (!last || (found < PAGE && rows.length === found)) return;
      before = last.link_id;
    }
  }

  async annotate(
    user: Collector,
    id: ReportJobId,
    { summary, description }: UserMetaChange,
    signal: AbortSignal,
  ): Promise<boolean> {
    signal.throwIfAborted();
    const rows = await this.#db.query(
      `update collection set summary = case when $3 then $4 else summary end,
         description = case when $5 then $6 else description end
       where user_id = $1 and guest = $7 and report_id = $2 returning link_id`,
      [
        user.id,
        id,
        summary !== undefined,
        textOrNull(summary),
        description !== undefined,
        textOrNull(description),
        user.guest,
      ],
    );
    return rows.length > 0;
  }

  async remove(user: Collector, id: ReportJobId, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const rows = await this.#db.query(
      'delete from collection where user_id = $1 and guest = $3 and report_id = $2 returning link_id',
      [user.id, id, user.guest],
    );
    return rows.length > 0;
  }

  async handOver(from: Collector, to: Collector, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#db.query(HAND_OVER, [from.id, from.guest, to.id, to.guest]);
  }
}

function pageStatement(user: Collector, queryId: QueryJobId | undefined, before: number | undefined) {
  const parameters = new SqlParameters();
  const conditions = [
    `user_id = ${parameters.add(user.id, 'numeric')}`,
    `guest = ${parameters.add(user.guest, 'boolean')}`,
  ];
  if (queryId !== undefined) conditions.push(`query_id = ${parameters.add(queryId, 'text')}`);
  if (before !== undefined) conditions.push(`link_id < ${parameters.add(before, 'bigint')}`);
  // Each job is looked up in an index: a join would read the whole table of jobs.
  const text = `
    select c.link_id, c.report_id, c.query_id, c.summary, c.description, j.status
    from (select * from collection where ${conditions.join(' and ')} order by link_id desc limit ${PAGE}) c
    cross join lateral (select status from report_job where id = c.report_id limit 1) j
    order by c.link_id desc`;
  return { text, values: parameters.values };
}
