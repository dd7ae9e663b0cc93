// The history of access requests, from the row images that the triggers store.

import type { UserId } from '../../model/ids.ts';
import type { PageRequest } from '../../ports/access-people.ts';
import type { AccessHistory, HistoryEntry, HistoryPage } from '../../ports/access-requests.ts';
import type { Sql } from '../postgres/postgres.ts';
import { boundedPage, type PageRow, rowBatches } from '../postgres/row-pages.ts';
import { accessTerms, type RequestRow } from './request-row.ts';

/** Rows in memory at once: each has up to five long texts. */
const BATCH = 25;

interface HistoryRow extends Omit<RequestRow, 'requested_at' | 'row_version'>, PageRow {
  readonly history_id: number;
  readonly cause_user: UserId | '0';
  readonly action: HistoryEntry['action'];
  readonly at: Date;
}

const IMAGE = [
  ...['restriction_level', 'approval_status', 'purpose', 'research_question', 'analysis_plan', 'dissemination_plan'],
  ...['prior_auth', 'denial_reason'],
]
  .map((column) => `image ->> '${column}' as ${column}`)
  .join(', ');

/** Which rows are on the page, with an index-only scan. */
const ALL = 'select history_id from end_user_history order by history_id desc limit $1::bigint offset $2::bigint';
/** No dataset contributes more rows than the page and the rows before it. */
const MANAGED = `
  select h.history_id from provider p cross join lateral (
    select h.history_id from end_user_history h where h.dataset_id = p.dataset_id
    order by h.history_id desc limit $1::bigint + $2::bigint) h
  where p.user_id = $3::numeric and p.is_manager order by h.history_id desc limit $1::bigint offset $2::bigint`;

/** The rows of the page, from one of them on. */
const ROWS = boundedPage(`
  select history_id, cause_user::text as cause_user, action, at, (image ->> 'end_user_id')::bigint as end_user_id,
    image ->> 'user_id' as user_id, dataset_id, ${IMAGE}, (image ->> 'start_date')::timestamptz as start_date,
    (image ->> 'duration')::bigint as duration, (image ->> 'date_denied')::timestamptz as date_denied
  from (select h.*, coalesce(h.after, h.before) as image from end_user_history h where h.history_id = any ($1::bigint[])) h
  order by history_id desc`);

export class PostgresAccessHistory implements AccessHistory {
  readonly #db: Sql;

  constructor(db: Sql) {
    this.#db = db;
  }

  async list(
    of: 'all' | { readonly managedBy: UserId },
    { limit, offset }: PageRequest,
    signal: AbortSignal,
  ): Promise<HistoryPage> {
    signal.throwIfAborted();
    const page = [limit, offset];
    const rows = await (of === 'all'
      ? this.#db.query<{ history_id: number }>(ALL, page, 'history-all')
      : this.#db.query<{ history_id: number }>(MANAGED, [...page, of.managedBy], 'history-managed'));
    const ids = rows.map(({ history_id }) => history_id);
    return { rows: ids.length, items: this.#batches(ids, signal) };
  }

  async *#batches(
    ids: readonly number[],
    signal: AbortSignal,
  ): AsyncGenerator<readonly HistoryEntry[], void, undefined> {
    const batches = rowBatches<HistoryRow, number>({
      read: (count, after) => {
        const begin = after === undefined ? 0 : ids.indexOf(after) + 1;
        return this.#db.query(ROWS, [ids.slice(begin, begin + count)], 'history-rows');
      },
      placeOf: ({ history_id }) => history_id,
      batchSize: BATCH,
      limit: ids.length,
      signal,
    });
    for await (const batch of batches) yield batch.map(historyEntry);
  }
}

const historyEntry = (row: HistoryRow): HistoryEntry => ({
  cause: row.cause_user,
  action: row.action,
  at: row.at,
  endUserId: row.end_user_id,
  userId: row.user_id,
  datasetId: row.dataset_id,
  terms: accessTerms(row),
});
