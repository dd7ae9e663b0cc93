// Links between users and report jobs as rows.

import type { ReportRequest } from '../../model/report/report-job.ts';
import type { ReportLink } from '../../ports/report-jobs.ts';
import type { Sql } from '../postgres/postgres.ts';
import { storableText } from '../postgres/storable-text.ts';

/** Creates the link, or updates the given fields of an existing one. */
export async function putLink(
  sql: Sql,
  request: Pick<ReportRequest, 'id' | 'queryId'>,
  link: ReportLink,
): Promise<void> {
  const { summary, description } = link.meta;
  await sql.query(
    `insert into collection as c (user_id, report_id, query_id, summary, description, guest)
     values ($1, $2, $3, $4, $5, $8)
     on conflict (user_id, guest, report_id) do update set
       summary = case when $6 then excluded.summary else c.summary end,
       description = case when $7 then excluded.description else c.description end
     where $6 or $7`,
    [
      link.user.id,
      request.id,
      request.queryId,
      textOrNull(summary),
      textOrNull(description),
      summary !== undefined,
      description !== undefined,
      link.user.guest,
    ],
  );
}

export const textOrNull = (text: string | null | undefined): string | null =>
  text === undefined || text === null ? null : storableText(text);
