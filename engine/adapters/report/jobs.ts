// Report jobs in PostgreSQL, for their callers.

import type { ReportFile, ReportJobId, ReportRequest, ReportStatus } from '../../model/report/report-job.ts';
import type {
  FailedReport,
  ReportAccess,
  ReportJobs,
  ReportLink,
  ReportReader,
  Requeued,
  StoredReportFile,
  Submission,
  SubmitRules,
} from '../../ports/report-jobs.ts';
import type { Postgres, Sql } from '../postgres/postgres.ts';
import { storableJson, storableText } from '../postgres/sql-parameters.ts';
import { failedOf, JOB_COLUMNS, type JobRow, jobOf, type MetaRow, metaOf, putLink } from './job-row.ts';

/** Notified when a job may be claimable. No payload. */
export const REPORT_CHANNEL = 'longshore_report';
/** How many waiting jobs of a tenant are counted at most when two tenants are compared. */
const COUNTED = 1_000;
const FILE_PAGE = 1_000;
const FAILED_PAGE = 500;
/** An access this soon after the last one is not recorded: a caller may poll its job every second. */
const NOTED_AFTER = "interval '1 minute'";

const READ = `
with touched as (
  update report_job set accessed_at = $2 where id = $1 and accessed_at < $2::timestamptz - ${NOTED_AFTER})
select ${JOB_COLUMNS}, c.link_id is not null as linked, c.summary, c.description
from report_job j left join collection c on c.user_id = $3 and c.guest = $4 and c.report_id = j.id
where j.id = $1`;

const SAVE = `
insert into collection (user_id, guest, report_id, query_id) select $2, $3, id, query_id from report_job where id = $1
on conflict (user_id, guest, report_id) do nothing`;

const FILES = `
select f.position, f.name, f.size from report_file f
where f.report_id = $1 and f.position > $2 order by f.position limit ${FILE_PAGE}`;

const FILE = `
select f.name, f.size, encode(f.sha256, 'hex') as sha256, f.etag from report_file f
where f.report_id = $1 and f.name = $2`;

const FAILED = `
select ${JOB_COLUMNS} from report_job j
where j.status = 'failed' and j.id > $1 order by j.id limit ${FAILED_PAGE}`;

type AccessRow = JobRow & MetaRow & { readonly linked: boolean };

export class PostgresReportJobs implements ReportJobs {
  readonly #db: Postgres;

  constructor(db: Postgres) {
    this.#db = db;
  }

  submit(
    request: ReportRequest,
    link: ReportLink | undefined,
    rules: SubmitRules,
    signal: AbortSignal,
  ): Promise<Submission> {
    return this.#db.transaction(async (sql) => {
      let answer: Submission = 'known';
      if (await mayWait(sql, request.id, rules)) answer = await enqueue(sql, request, rules);
      if (answer === 'full' || answer === 'share-full') return answer;
      if (answer === 'known') await asked(sql, request.id, rules);
      if (link) await putLink(sql, request, link);
      return answer;
    }, signal);
  }

  requeue(id: ReportJobId, rules: Omit<SubmitRules, 'failedBefore'>, signal: AbortSignal): Promise<Requeued> {
    return this.#db.transaction(async (sql) => {
      await lockQueue(sql);
      const [job] = await sql.query<{ expired: boolean }>(
        `select status = 'expired' as expired from report_job where id = $1 for no key update`,
        [id],
      );
      if (!job) return 'absent';
      if (!job.expired) return 'refused';
      const full = await fullFor(sql, rules);
      if (full) return full;
      await queueAgain(sql, id, rules);
      return 'queued';
    }, signal);
  }

  async read(
    id: ReportJobId,
    reader: ReportReader | undefined,
    now: Date,
    signal: AbortSignal,
  ): Promise<ReportAccess | undefined> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<AccessRow>(READ, [
      id,
      now,
      reader?.user.id ?? null,
      reader?.user.guest ?? false,
    ]);
    if (!row) return undefined;
    const saves = reader?.save === true && !row.linked;
    if (saves) await this.#db.query(SAVE, [id, reader.user.id, reader.user.guest]);
    return { job: jobOf(row), meta: row.linked || saves ? metaOf(row) : undefined };
  }

  async *files(id: ReportJobId, signal: AbortSignal): AsyncGenerator<ReportFile> {
    for (let after = -1; ; ) {
      signal.throwIfAborted();
      const rows = await this.#db.query<ReportFile & { position: number }>(FILES, [id, after]);
      for (const { name, size } of rows) yield { name, size };
      const last = rows.at(-1);
      if (!last || rows.length < FILE_PAGE) return;
      after = last.position;
    }
  }

  async file(id: ReportJobId, name: string, signal: AbortSignal): Promise<StoredReportFile | undefined> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<ReportFile & { sha256: string | null; etag: string | null }>(FILE, [
      id,
      storableText(name),
    ]);
    if (!row) return undefined;
    const { sha256, etag, ...file } = row;
    return sha256 !== null && etag !== null ? { ...file, digest: { etag, sha256 } } : file;
  }

  async stderr(id: ReportJobId, signal: AbortSignal): Promise<string | undefined> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<{ stderr: string | null }>('select stderr from report_job where id = $1', [id]);
    return row?.stderr ?? undefined;
  }

  async statuses(ids: readonly ReportJobId[], signal: AbortSignal): Promise<ReadonlyMap<ReportJobId, ReportStatus>> {
    signal.throwIfAborted();
    const rows = await this.#db.query<{ id: ReportJobId; status: ReportStatus }>(
      'select id, status from report_job where id = any ($1::text[])',
      [ids],
    );
    return new Map(rows.map(({ id, status }) => [id, status]));
  }

  async *failed(signal: AbortSignal): AsyncGenerator<FailedReport> {
    for (let after = ''; ; ) {
      signal.throwIfAborted();
      const rows = await this.#db.query<JobRow>(FAILED, [after]);
      for (const row of rows) yield failedOf(row);
      const last = rows.at(-1);
      if (!last || rows.length < FAILED_PAGE) return;
      after = last.id;
    }
  }
}

/** A check without lock; `enqueue` repeats it under the lock. */
async function mayWait(sql: Sql, id: ReportJobId, { failedBefore }: SubmitRules): Promise<boolean> {
  const [job] = await sql.query<{ waits: boolean }>(
    `select status = 'expired' or (status = 'failed' and ended_at <= $2) as waits from report_job where id = $1`,
    [id, failedBefore],
  );
  return job?.waits ?? true;
}

async function enqueue(sql: Sql, request: ReportRequest, rules: SubmitRules): Promise<Submission> {
  await lockQueue(sql);
  const [job] = await sql.query<{ waits: boolean }>(
    `select status = 'expired' or (status = 'failed' and ended_at <= $2) as waits from report_job where id = $1 for no key update`,
    [request.id, rules.failedBefore],
  );
  if (job && !job.waits) return 'known';
  const full = await fullFor(sql, rules);
  if (full) return full;
  if (job) await queueAgain(sql, request.id, rules);
  else {
    await sql.query(
      `insert into report_job (id, query_id, configuration, fingerprint, created_at, run_at, accessed_at, traceparent, tenant)
       values ($1, $2, $3, $4, $5, $5, $5, $6, $7)`,
      [
        request.id,
        request.queryId,
        storableJson(JSON.stringify(request.configuration)),
        request.fingerprint,
        rules.now,
        rules.traceparent ?? null,
        rules.tenant,
      ],
    );
    await wakeLanes(sql);
  }
  return 'queued';
}

/** Serializes enqueueing, so that the limit is exact and two submissions of one job do not both insert it. */
const lockQueue = (sql: Sql): Promise<unknown> =>
  sql.query(`select pg_advisory_xact_lock(hashtextextended('report queue', 0))`);

async function fullFor(
  sql: Sql,
  { maxQueued, maxQueuedPerTenant, tenant }: Pick<SubmitRules, 'maxQueued' | 'maxQueuedPerTenant' | 'tenant'>,
): Promise<'full' | 'share-full' | undefined> {
  const own = await sql.query(
    `select from report_job where status = 'queued' and tenant = $1 order by run_at, id limit 1 offset $2`,
    [tenant, maxQueuedPerTenant - 1],
  );
  if (own.length > 0) return 'share-full';
  // Finds the first row over the limit in index order, so no more rows than that are read.
  const rows = await sql.query(`select from report_job where status = 'queued' order by run_at, id limit 1 offset $1`, [
    maxQueued - 1,
  ]);
  return rows.length > 0 ? 'full' : undefined;
}

/**
 * A job that exists is requested again. It must not wait behind the queue of the tenant who happened to request it first, so it
 * moves to the tenant with fewer waiting jobs.
 */
async function asked(sql: Sql, id: ReportJobId, { now, tenant }: Pick<SubmitRules, 'now' | 'tenant'>): Promise<void> {
  await sql.query('update report_job set accessed_at = $2 where id = $1 and accessed_at < $2', [id, now]);
  const waiting = (whose: string): string =>
    `(select count(*) from (select from report_job q where q.status = 'queued' and q.tenant = ${whose} limit ${COUNTED}) n)`;
  const moved = await sql.query(
    `update report_job j set tenant = $2
     where j.id = $1 and j.status = 'queued' and j.tenant <> $2 and ${waiting('$2')} < ${waiting('j.tenant')} returning j.id`,
    [id, tenant],
  );
  if (moved.length > 0) await wakeLanes(sql);
}

async function queueAgain(
  sql: Sql,
  id: ReportJobId,
  { now, traceparent, tenant }: Pick<SubmitRules, 'now' | 'traceparent' | 'tenant'>,
): Promise<void> {
  await sql.query(
    `update report_job set status = 'queued', run_at = $2, accessed_at = $2, attempts = 0, started_at = null, ended_at = null,
       failure = null, stderr = null, traceparent = $3, tenant = $4
     where id = $1`,
    [id, now, traceparent ?? null, tenant],
  );
  await wakeLanes(sql);
}

const wakeLanes = (sql: Sql): Promise<unknown> => sql.query(`select pg_notify('${REPORT_CHANNEL}', '')`);
