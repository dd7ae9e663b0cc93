// The queue of report jobs in PostgreSQL. A lease is part of the job's row and uses the database's clock.

import type { Tenant } from '../../model/ids.ts';
import type { ResolvedConfig } from '../../model/report/blast-config.ts';
import type { QueryJobId } from '../../model/report/query-job.ts';
import type { ReportJobId, ReportStatus } from '../../model/report/report-job.ts';
import { parseTraceparent } from '../../model/traceparent.ts';
import type {
  ReportClaim,
  ReportClaimRequest,
  ReportCompletion,
  ReportDebris,
  ReportExpiry,
  ReportQueue,
  StoredReportFile,
} from '../../ports/report-jobs.ts';
import type { Postgres, Sql } from '../postgres/postgres.ts';
import type { PostgresInstance } from '../postgres/postgres-instance.ts';
import { storableText } from '../postgres/sql-parameters.ts';
import { REPORT_CHANNEL } from './jobs.ts';

/** Three renewals fit into it. */
const LEASE_TIME = "interval '30 seconds'";

/** Tenants that one claim looks at. */
const TENANTS = 1_000;

const HOLDS = `id = $1 and attempt = $2 and holder = $3 and status = 'in-progress'`;

const END = `
update report_job set status = $4, holder = null, lease_until = null, ended_at = $5, accessed_at = greatest(accessed_at, $5),
  failure = $6, stderr = $7, tenant = default, debris_to = case $4 when 'failed' then attempt else debris_to end
where ${HOLDS} returning id`;

const AGAIN = `
update report_job set status = 'queued', holder = null, lease_until = null, run_at = $4, attempts = attempts + $5,
  debris_to = attempt
where ${HOLDS}`;

const FILES = `
insert into report_file (report_id, position, name, size, sha256, etag)
select $1, n - 1, name, size, decode(sha256, 'hex'), etag
from unnest($2::text[], $3::bigint[], $4::text[], $5::text[]) with ordinality as f (name, size, sha256, etag, n)`;

/** Frees jobs whose holder is gone or let the lease expire. */
const FREE_LOST = `
with lost as (
  select id from report_job
  where status = 'in-progress' and (lease_until <= now() or (holder <> $1 and not instance_alive(holder)))
  order by id for no key update skip locked)
update report_job set status = 'queued', holder = null, lease_until = null where id = any (array(select id from lost))`;

/** Serializes claims, so that each sees what the tenants have running. */
const LOCK_CLAIMS = `select pg_advisory_xact_lock(hashtextextended('report claims', 0))`;

/**
 * Walks the tenants in the index, users first, and reads the first jobs of each. So one tenant's backlog costs the others
 * nothing. `>= and <=` instead of `=` makes the planner order by the tenant, which only the index with tenants supports.
 * Otherwise it may read all jobs in time order. If there are more tenants than a claim looks at, the oldest jobs overall are
 * read too. With 100,000 jobs of one tenant and one of another: 19 pages when the first is withheld, 82 when not
 * (test/engine/adapters/report/report-plans.test.ts).
 */
const CLAIM = `
with recursive waiting (tenant, n) as (
  (select tenant, 1 from report_job where status = 'queued' order by tenant limit 1)
  union all
  select (select j.tenant from report_job j where j.status = 'queued' and j.tenant > w.tenant order by j.tenant limit 1), w.n + 1
  from waiting w where w.tenant is not null and w.n < ${TENANTS}),
seen as (
  select j.id, j.tenant, j.run_at from waiting w cross join lateral (
    select id, tenant, run_at from report_job j
    where j.status = 'queued' and j.tenant >= w.tenant and j.tenant <= w.tenant and j.run_at <= $2
    order by j.tenant, j.run_at, j.id limit $3) j
  union
  (select id, tenant, run_at from report_job where status = 'queued' and run_at <= $2 order by run_at, id limit $3)),
running as (
  select tenant, count(*) as jobs from report_job where status = 'in-progress' group by tenant),
ranked as (
  select s.id, s.run_at, row_number() over (partition by s.tenant order by s.run_at, s.id) + coalesce(r.jobs, 0) as turn
  from seen s left join running r on r.tenant = s.tenant
  where s.tenant <> all ($4::text[])),
chosen as (
  select id, turn from ranked order by turn, run_at, id limit $3),
due as (
  select id from report_job where id = any (array(select id from chosen)) and status = 'queued'
  for no key update skip locked),
claimed as (
  update report_job j set status = 'in-progress', holder = $1, lease_until = now() + ${LEASE_TIME}, started_at = $2,
    attempt = j.attempt + 1, debris_to = nullif(j.attempt, 0)
  where j.id = any (array(select id from due))
  returning j.id, j.query_id, j.configuration, j.fingerprint, j.attempt, j.attempts, j.run_at, j.traceparent, j.tenant)
select claimed.* from claimed join chosen using (id) order by chosen.turn, claimed.run_at, claimed.id`;

const RENEW = `
with ours as (
  select j.id from report_job j join unnest($2::text[], $3::integer[]) as g (id, attempt) on j.id = g.id and j.attempt = g.attempt
  where j.holder = $1 and j.status = 'in-progress' order by j.id for no key update of j)
update report_job j set lease_until = now() + ${LEASE_TIME}
where j.id = any (array(select id from ours)) returning j.id, j.attempt`;

interface ClaimRow {
  readonly id: ReportJobId;
  readonly query_id: QueryJobId;
  readonly configuration: ResolvedConfig;
  readonly fingerprint: string;
  readonly attempt: number;
  readonly attempts: number;
  readonly run_at: Date;
  readonly traceparent: string | null;
  readonly tenant: Tenant;
}

type Held = Pick<ReportClaim, 'id' | 'attempt'>;

export class PostgresReportQueue implements ReportQueue {
  readonly #db: Postgres;
  readonly #instance: Pick<PostgresInstance, 'id' | 'connected' | 'listen'>;

  /** @param instance of the schema that contains the jobs */
  constructor(db: Postgres, instance: Pick<PostgresInstance, 'id' | 'connected' | 'listen'>) {
    this.#db = db;
    this.#instance = instance;
  }

  completeAndFetch(
    done: readonly ReportCompletion[],
    { limit, withheld = [] }: ReportClaimRequest,
    now: Date,
    signal: AbortSignal,
  ): Promise<readonly ReportClaim[]> {
    return this.#db.transaction(async (sql) => {
      // Always in the order of ids, so that transactions that lock several rows cannot deadlock.
      for (const one of [...done].sort((a, b) => (a.claim.id < b.claim.id ? -1 : 1))) await this.#write(sql, one);
      // Without our session lock, others would consider the jobs abandoned as soon as we claimed them.
      if (limit <= 0 || !this.#instance.connected) return [];
      await sql.query(LOCK_CLAIMS);
      await sql.query(FREE_LOST, [this.#instance.id]);
      const rows = await sql.query<ClaimRow>(CLAIM, [this.#instance.id, now, limit, withheld]);
      return rows.map((row) => claimOf(row, now));
    }, signal);
  }

  async renew(claims: readonly Held[], signal: AbortSignal): Promise<readonly Held[]> {
    signal.throwIfAborted();
    if (claims.length === 0) return [];
    const rows = await this.#db.query<Held>(RENEW, [
      this.#instance.id,
      claims.map(({ id }) => id),
      claims.map(({ attempt }) => attempt),
    ]);
    const ours = new Set(rows.map(({ id, attempt }) => `${id} ${attempt}`));
    return claims.filter(({ id, attempt }) => !ours.has(`${id} ${attempt}`));
  }

  watch(wake: () => void): () => void {
    return this.#instance.listen(REPORT_CHANNEL, wake);
  }

  async #write(sql: Sql, { claim, outcome }: ReportCompletion): Promise<void> {
    const held = [claim.id, claim.attempt, this.#instance.id];
    switch (outcome.kind) {
      case 'complete': {
        const rows = await sql.query(END, [...held, 'complete', outcome.ended, null, storableText(outcome.stderr)]);
        if (rows.length > 0) await insertFiles(sql, claim.id, outcome.files);
        return;
      }
      case 'failed': {
        const { ended, reason, stderr } = outcome;
        await sql.query(END, [...held, 'failed', ended, storableText(reason), storableText(stderr)]);
        return;
      }
      case 'again':
        await sql.query(AGAIN, [...held, outcome.from, outcome.countsAttempt ? 1 : 0]);
        await sql.query(`select pg_notify('${REPORT_CHANNEL}', '')`);
        return;
      default:
        return outcome satisfies never;
    }
  }
}

async function insertFiles(sql: Sql, id: ReportJobId, files: readonly StoredReportFile[]): Promise<void> {
  await sql.query(FILES, [
    id,
    files.map(({ name }) => name),
    files.map(({ size }) => size),
    files.map(({ digest }) => digest?.sha256 ?? null),
    files.map(({ digest }) => digest?.etag ?? null),
  ]);
}

function claimOf(row: ClaimRow, now: Date): ReportClaim {
  const traceparent = parseTraceparent(row.traceparent ?? undefined);
  return {
    id: row.id,
    queryId: row.query_id,
    configuration: row.configuration,
    fingerprint: row.fingerprint,
    attempt: row.attempt,
    attempts: row.attempts,
    tenant: row.tenant,
    waitedMs: now.getTime() - row.run_at.getTime(),
    ...(traceparent ? { traceparent } : {}),
  };
}

// Expiry of report jobs in PostgreSQL. The row expires first, so that nobody is sent to its files any more; then the files are
// removed. A job that is queued again in the meantime writes its files under another attempt.

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
