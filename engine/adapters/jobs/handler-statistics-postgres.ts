// The statistics of the handler service, in the cache DB.

import type { HandlerCounts, HandlerStatistics } from '../../ports/handler-jobs.ts';
import type { Postgres } from '../postgres/postgres.ts';

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
