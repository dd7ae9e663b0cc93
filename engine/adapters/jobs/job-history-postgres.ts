// The history of datasets in the cache database. The function complete_and_fetch_jobs and triggers of the job table write it
// (engine/adapters/migrations/cache/0009-job-history.sql).

import type { LaneName } from '../../model/event.ts';
import type { Attempt, HistoryEntry, HistoryOutcome, HistoryProcess, JobHistory } from '../../ports/job-history.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { boundedPage, cutPage, type PageRow } from '../postgres/row-pages.ts';

/** Most rows that one statement deletes. */
const DROP_BATCH = 5_000;

const pageSql = (sign: '<' | '>', direction: 'desc' | 'asc'): string =>
  boundedPage(`
    select (extract(epoch from h.at) * 1000)::bigint as ms, h.number, h.lane, h.job_id, h.event_id, h.outcome, h.attempt,
      p.id as instance, p.host, p.pid, p.started_at
    from (
      select * from job_history where dataset_id = $1 and (at, number) ${sign} ($3::timestamptz, $4::bigint)
      order by at ${direction}, number ${direction} limit $2) h
    left join process_instance p on p.id = h.instance
    order by h.at ${direction}, h.number ${direction}`);
const NEWEST_FIRST = pageSql('<', 'desc');
const OLDEST_FIRST = pageSql('>', 'asc');

/** In the order of the numbers, which is nearly the order of the ends, so no index by time is needed. */
const DROP = `
with oldest as materialized (select number from job_history order by number limit $2),
dropped as (delete from job_history h using oldest o where h.number = o.number and h.at < $1 returning 1)
select count(*) as dropped from dropped`;

/** Processes that no row can name any more. */
const DROP_PROCESSES = `
with seen as (update process_instance p set seen_at = now() where p.id in (select id from alive_instance) returning p.id)
delete from process_instance p where p.seen_at < $1::timestamptz - interval '1 day' and p.id not in (select id from seen)`;

interface HistoryRow extends PageRow {
  readonly ms: number;
  readonly number: number;
  readonly lane: LaneName;
  readonly job_id: number;
  readonly event_id: number;
  readonly outcome: HistoryOutcome;
  readonly attempt: Attempt;
  readonly instance: number | null;
  readonly host: string;
  readonly pid: number;
  readonly started_at: Date;
}

export class PostgresJobHistory implements JobHistory {
  readonly #db: Pick<Postgres, 'query'>;

  constructor(db: Pick<Postgres, 'query'>) {
    this.#db = db;
  }

  /** Records a process. Call it before the process claims jobs. */
  async introduce({ instance, host, pid, started }: HistoryProcess, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#db.query(
      'insert into process_instance (id, host, pid, started_at) values ($1, $2, $3, $4) on conflict do nothing',
      [instance, host, pid, started],
    );
  }

  page: JobHistory['page'] = async (dataset, { limit, order, after }, signal) => {
    signal.throwIfAborted();
    const isNewestFirst = order === 'newest-first';
    const begin = isNewestFirst ? 'infinity' : '-infinity';
    const rows = await this.#db.query<HistoryRow>(isNewestFirst ? NEWEST_FIRST : OLDEST_FIRST, [
      ...[dataset, limit + 1],
      ...(after ? [new Date(after.at), after.number] : [begin, 0]),
    ]);
    const { page, hasMore } = cutPage(rows, limit);
    const entries = page.map(entryOf);
    const last = entries.at(-1);
    return { entries, ...(last && hasMore ? { next: { at: last.at, number: last.number } } : {}) };
  };

  dropBefore: JobHistory['dropBefore'] = async (at, signal) => {
    for (let total = 0; ; ) {
      signal.throwIfAborted();
      const [row] = await this.#db.query<{ dropped: number }>(DROP, [new Date(at), DROP_BATCH]);
      total += row?.dropped ?? 0;
      if ((row?.dropped ?? 0) < DROP_BATCH) {
        await this.#db.query(DROP_PROCESSES, [new Date(at)]);
        return total;
      }
    }
  };
}

const entryOf = (row: HistoryRow): HistoryEntry => ({
  at: row.ms,
  number: row.number,
  lane: row.lane,
  job: row.job_id,
  eventId: row.event_id,
  outcome: row.outcome,
  ...(row.instance === null
    ? {}
    : { process: { instance: row.instance, host: row.host, pid: row.pid, started: row.started_at } }),
  ...row.attempt,
});
