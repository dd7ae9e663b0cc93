// Maps a report job to its row.

import type { ResolvedConfig } from '../../model/report/blast-config.ts';
import type { QueryJobId } from '../../model/report/query-job.ts';
import type { ReportJobId, ReportRequest, ReportStatus } from '../../model/report/report-job.ts';
import type { FailedReport, ReportJob, ReportLink } from '../../ports/report-jobs.ts';
import type { Sql } from '../postgres/postgres.ts';
import { storableText } from '../postgres/sql-parameters.ts';

export interface JobRow {
  readonly id: ReportJobId;
  readonly query_id: QueryJobId;
  readonly configuration: ResolvedConfig;
  readonly fingerprint: string;
  readonly status: ReportStatus;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly ended_at: Date | null;
  readonly accessed_at: Date;
  readonly attempt: number;
  readonly failure: string | null;
}

/** Columns of `report_job j` without stderr, which may be long. */
export const JOB_COLUMNS = `j.id, j.query_id, j.configuration, j.fingerprint, j.status, j.created_at, j.started_at, j.ended_at,
  j.accessed_at, j.attempt, j.failure`;

export const jobOf = (row: JobRow): ReportJob => ({
  id: row.id,
  queryId: row.query_id,
  configuration: row.configuration,
  fingerprint: row.fingerprint,
  status: row.status,
  created: row.created_at,
  started: row.started_at ?? undefined,
  ended: row.ended_at ?? undefined,
  accessed: row.accessed_at,
  attempt: row.attempt,
  failure: row.failure ?? undefined,
});

/** The table's constraints ensure that a failed job has an end and a reason. */
export const failedOf = (row: JobRow): FailedReport => ({
  id: row.id,
  queryId: row.query_id,
  configuration: row.configuration,
  fingerprint: row.fingerprint,
  created: row.created_at,
  ended: row.ended_at ?? row.accessed_at,
  failure: row.failure ?? '',
});

export interface MetaRow {
  readonly summary: string | null;
  readonly description: string | null;
}

export const metaOf = ({ summary, description }: MetaRow): { summary?: string; description?: string } => ({
  ...(summary === null ? {} : { summary }),
  ...(description === null ? {} : { description }),
});

// Links between users and report jobs as rows.

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
