// Records of handler jobs in the cache DB.

import { HANDLER_MOVES, type HandlerState, type JobRegistration, RUNNING_STATES } from '../../model/handler-job.ts';
import type { UserId } from '../../model/ids.ts';
import type {
  DueHandlerJob,
  HandlerCounts,
  HandlerJob,
  HandlerJobs,
  HandlerMove,
  HandlerStatistics,
  KeptResults,
  NewHandlerJob,
} from '../../ports/handler-jobs.ts';
import type { Postgres } from '../postgres/postgres.ts';
import type { PostgresInstance } from '../postgres/postgres-instance.ts';
import { storableJson, storableText } from '../postgres/sql-parameters.ts';

interface JobRow {
  readonly id: string;
  readonly job_id: string;
  readonly registration: JobRegistration;
  readonly state: HandlerState;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly ended_at: Date | null;
  readonly size: number;
  readonly result_name: string | null;
  readonly result_bytes: number | null;
  readonly result_expires_at: Date | null;
  /** In hex. */
  readonly result_sha256: string | null;
  readonly result_etag: string | null;
  readonly message: string | null;
}

/** The columns that a move writes in addition to the state, with their values. */
type Written = readonly (readonly [column: string, value: unknown])[];

export class PostgresHandlerJobs implements HandlerJobs {
  readonly #db: Postgres;
  readonly #instance: Pick<PostgresInstance, 'id'>;

  constructor(db: Postgres, instance: Pick<PostgresInstance, 'id'>) {
    this.#db = db;
    this.#instance = instance;
  }

  register(job: NewHandlerJob, signal: AbortSignal): Promise<boolean> {
    return this.#db.transaction(async (sql) => {
      // Row locks are not enough: two concurrent registrations of a new id would find no row to lock.
      await sql.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [job.jobId]);
      const [running] = await sql.query('select from handler_job where job_id = $1 and holder is not null for update', [
        job.jobId,
      ]);
      if (running) return false;
      await sql.query(
        `update handler_job set job_id = null, expires_at = least(expires_at, $2)
         where job_id = $1 and holder is null`,
        [job.jobId, job.created],
      );
      await sql.query(
        'insert into handler_job (id, job_id, registration, created_at, expires_at) values ($1, $2, $3, $4, $5)',
        [job.id, job.jobId, storableJson(JSON.stringify(job.registration)), job.created, job.expires],
      );
      return true;
    }, signal);
  }

  async find(jobId: string, now: Date, signal: AbortSignal): Promise<HandlerJob | undefined> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<JobRow>(
      `select id::text as id, job_id, registration, state, created_at, started_at, ended_at, size, result_name,
         result_bytes, result_expires_at, encode(result_sha256, 'hex') as result_sha256, result_etag, message
       from handler_job where job_id = $1 and (expires_at is null or expires_at > $2)`,
      [jobId, now],
    );
    return row && jobOf(row);
  }

  async move(id: string, move: HandlerMove, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const written = [['state', move.to] as const, ...writtenBy(move, this.#instance.id)];
    const sets = written.map(([column], i) => `${column} = $${i + 4}`);
    const rows = await this.#db.query(
      // Any process may move a waiting job, but only its holder may move a running one.
      `update handler_job set ${sets.join(', ')}
       where id = $1 and state = any ($2) and (holder = $3 or holder is null and job_id is not null)
       returning id`,
      [id, HANDLER_MOVES[move.to], this.#instance.id, ...written.map(([, value]) => value)],
    );
    return rows.length > 0;
  }

  async kept(owner: UserId, signal: AbortSignal): Promise<KeptResults> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<{ bytes: number; next: Date | null }>(
      `select coalesce(sum(result_bytes), 0)::bigint as bytes, min(result_expires_at) as next
       from handler_job where registration ->> 'owner' = $1 and result_bytes is not null`,
      [owner],
    );
    return { bytes: row?.bytes ?? 0, nextExpiry: row?.next ?? undefined };
  }

  async failOrphans(
    { ended, message, expires }: Omit<HandlerMove & { to: 'failed' }, 'to'>,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    signal.throwIfAborted();
    const rows = await this.#db.query<{ id: string }>(
      `update handler_job set state = 'failed', holder = null, ended_at = $2, message = $3, expires_at = $4
       where state = any ($1) and holder is not null and not instance_alive(holder) returning id::text as id`,
      [RUNNING_STATES, ended, storableText(message), expires],
    );
    return rows.map((row) => row.id);
  }

  async due(now: Date, limit: number, signal: AbortSignal): Promise<readonly DueHandlerJob[]> {
    signal.throwIfAborted();
    return this.#db.query<{ id: string; what: 'result' | 'job' }>(
      `select id::text as id, case when expires_at <= $1 then 'job' else 'result' end as what
       from handler_job where least(expires_at, result_expires_at) <= $1
       order by least(expires_at, result_expires_at), id limit $2`,
      [now, limit],
    );
  }

  async forget({ id, what }: DueHandlerJob, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (what === 'job') await this.#db.query('delete from handler_job where id = $1 and holder is null', [id]);
    else
      await this.#db.query(
        `update handler_job set result_name = null, result_bytes = null, result_expires_at = null, result_sha256 = null,
           result_etag = null
         where id = $1`,
        [id],
      );
  }
}

function writtenBy(move: HandlerMove, holder: number): Written {
  switch (move.to) {
    case 'uploading':
      return [
        ['holder', holder],
        ['started_at', move.started],
        ['message', null],
        ['expires_at', null],
      ];
    case 'awaiting':
      return [
        ['holder', null],
        ['started_at', null],
        ['size', 0],
        ['message', storableText(move.message)],
        ['expires_at', move.expires],
      ];
    case 'unpacking':
      return [['size', move.size]];
    case 'processing':
      return [];
    case 'completed':
      return [
        ['holder', null],
        ['ended_at', move.ended],
        ['result_name', move.result.fileName],
        ['result_bytes', move.result.bytes],
        ['result_expires_at', move.result.expires],
        ['result_sha256', move.result.digest ? Buffer.from(move.result.digest.sha256, 'hex') : null],
        ['result_etag', move.result.digest?.etag ?? null],
        ['expires_at', move.expires],
        ['message', move.message === undefined ? null : storableText(move.message)],
      ];
    case 'failed':
      return [
        ['holder', null],
        ['ended_at', move.ended],
        ['message', storableText(move.message)],
        ['expires_at', move.expires],
      ];
    default:
      return move satisfies never;
  }
}

const jobOf = (row: JobRow): HandlerJob => ({
  id: row.id,
  jobId: row.job_id,
  registration: row.registration,
  created: row.created_at,
  state: row.state,
  started: row.started_at ?? undefined,
  ended: row.ended_at ?? undefined,
  size: row.size,
  result: resultOf(row),
  message: row.message ?? undefined,
});

function resultOf(row: JobRow): HandlerJob['result'] {
  const { result_name: fileName, result_bytes: bytes, result_expires_at: expires } = row;
  if (fileName === null || bytes === null || expires === null) return undefined;
  const { result_sha256: sha256, result_etag: etag } = row;
  return { fileName, bytes, expires, ...(sha256 !== null && etag !== null ? { digest: { etag, sha256 } } : {}) };
}

// The statistics of the handler service, in the cache DB.

interface TotalRow {
  readonly uploads: number;
  readonly uploaded_bytes: string;
  readonly largest: number;
  readonly runs: number;
  readonly run_ms: number;
  readonly longest_ms: number;
}

export class PostgresHandlerStatistics implements HandlerStatistics {
  readonly #db: Postgres;

  constructor(db: Postgres) {
    this.#db = db;
  }

  async add(counts: HandlerCounts, signal: AbortSignal): Promise<void> {
    await this.#db.transaction(async (sql) => {
      // Every process locks the rows in the order of their keys, to avoid deadlocks.
      const statuses = Object.keys(counts.byStatus).map(Number).sort();
      if (statuses.length > 0)
        await sql.query(
          `insert into handler_response as r (status, count)
           select status, count from unnest($1::smallint[], $2::bigint[]) as n (status, count) order by status
           on conflict (status) do update set count = r.count + excluded.count`,
          [statuses, statuses.map((status) => counts.byStatus[status])],
        );
      await sql.query(
        `update handler_total set uploads = uploads + $1, uploaded_bytes = uploaded_bytes + $2,
           largest = greatest(largest, $3), runs = runs + $4, run_ms = run_ms + $5, longest_ms = greatest(longest_ms, $6)`,
        [
          counts.uploads,
          counts.uploadedBytes,
          counts.largest,
          counts.runs,
          Math.round(counts.runMs),
          Math.round(counts.longestMs),
        ],
      );
    }, signal);
  }

  async read(signal: AbortSignal): Promise<HandlerCounts> {
    signal.throwIfAborted();
    const [total] = await this.#db.query<TotalRow>(
      'select uploads, uploaded_bytes::text as uploaded_bytes, largest, runs, run_ms, longest_ms from handler_total',
    );
    const responses = await this.#db.query<{ status: number; count: number }>(
      'select status, count from handler_response',
    );
    return {
      byStatus: Object.fromEntries(responses.map(({ status, count }) => [status, count])),
      uploads: total?.uploads ?? 0,
      uploadedBytes: Number(total?.uploaded_bytes ?? 0),
      largest: total?.largest ?? 0,
      runs: total?.runs ?? 0,
      runMs: total?.run_ms ?? 0,
      longestMs: total?.longest_ms ?? 0,
    };
  }
}
