// Access requests and grants.

import {
  type AccessRequest,
  type CuratedId,
  type RequestKey,
  type RequestStatus,
  type SettledTerms,
  WAITING_LEVELS,
} from '../../model/access-request.ts';
import type { UserId } from '../../model/ids.ts';
import type { Cause, Listing } from '../../ports/access-people.ts';
import type { EndUserFilter, EndUsers, RequestChange, WaitedRequest } from '../../ports/access-requests.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { boundedPage, type PageRow } from '../postgres/row-pages.ts';
import { SqlParameters, statementName } from '../postgres/sql-parameters.ts';
import { causing } from './causing.ts';
import { queueMails } from './outbox.ts';
import {
  accessRequest,
  insertRequest,
  lockRequest,
  REQUEST_COLUMNS,
  type RequestRow,
  updateRequest,
} from './request-row.ts';

const WAITED_PAGE = 100;

export class PostgresEndUsers implements EndUsers {
  readonly #db: Pick<Postgres, 'query' | 'transaction'>;

  constructor(db: Pick<Postgres, 'query' | 'transaction'>) {
    this.#db = db;
  }

  async list(filter: EndUserFilter, signal: AbortSignal): Promise<Listing<AccessRequest>> {
    signal.throwIfAborted();
    const statement = firstStatement(filter, Math.min(filter.limit, LIST_BATCH));
    const text = boundedPage(statement.text);
    const rows = await this.#db.query<FirstRow & PageRow>(text, statement.values, statementName(text));
    const first = rows.filter((row) => row.end_user_id !== null);
    return { total: rows[0]?.total ?? 0, items: this.#batches(filter, first, signal) };
  }

  async *#batches(
    filter: EndUserFilter,
    first: readonly (RequestRow & PageRow)[],
    signal: AbortSignal,
  ): AsyncGenerator<readonly AccessRequest[], void, undefined> {
    let rows = first;
    for (let left = filter.limit; rows.length > 0; ) {
      const batch = rows.map(accessRequest);
      yield batch;
      left -= batch.length;
      const last = batch.at(-1);
      const found = rows[0]?.page_rows ?? 0;
      if (left <= 0 || !last || (found < LIST_BATCH && batch.length === found)) return;
      signal.throwIfAborted();
      const statement = nextStatement(filter, last, Math.min(left, LIST_BATCH));
      const text = boundedPage(statement.text);
      rows = await this.#db.query<RequestRow & PageRow>(text, statement.values, statementName(text));
    }
  }

  async find({ userId, datasetId }: RequestKey, signal: AbortSignal): Promise<AccessRequest | undefined> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<RequestRow>(
      `select ${REQUEST_COLUMNS} from end_user where user_id = $1::numeric and dataset_id = $2`,
      [userId, datasetId],
      'end-user',
    );
    return row && accessRequest(row);
  }

  create(key: RequestKey, terms: SettledTerms, cause: Cause, signal: AbortSignal): Promise<boolean> {
    return causing(this.#db, cause, (sql) => insertRequest(sql, key, terms), signal);
  }

  change(
    key: RequestKey,
    cause: Cause,
    decide: (now: AccessRequest) => RequestChange | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    return causing(
      this.#db,
      cause,
      async (sql) => {
        const now = await lockRequest(sql, key);
        if (!now) return false;
        const change = decide(now);
        if (!change) return true;
        await updateRequest(sql, now.id, change.terms);
        await queueMails(sql, change.mails, cause.at);
        return true;
      },
      signal,
    );
  }

  remove(key: RequestKey, cause: Cause, demand: (now: AccessRequest) => void, signal: AbortSignal): Promise<boolean> {
    return causing(
      this.#db,
      cause,
      async (sql) => {
        const now = await lockRequest(sql, key);
        if (!now) return false;
        demand(now);
        await sql.query('delete from end_user where end_user_id = $1', [now.id]);
        return true;
      },
      signal,
    );
  }

  async waited(now: Date, after: WaitedRequest | undefined, signal: AbortSignal): Promise<readonly WaitedRequest[]> {
    signal.throwIfAborted();
    const rows = await this.#db.query<WaitedRow>(WAITED, [
      now,
      after?.datasetId ?? '',
      after?.requestedAt ?? '-infinity',
      after?.id ?? 0,
    ]);
    return rows.map((row) => ({
      id: row.end_user_id,
      userId: row.user_id,
      datasetId: row.dataset_id,
      daysForApproval: row.days_for_approval,
      requestedAt: row.requested_at,
    }));
  }
}

/** Dataset by dataset, so that only requests are looked at that have waited long enough; see the index curated_dataset_waiting. */
const WAITED = `
  select e.end_user_id, e.user_id::text as user_id, c.dataset_id, c.days_for_approval,
    e.requested_at::text as requested_at
  from curated_dataset c cross join lateral (
    select e.end_user_id, e.user_id, e.requested_at from end_user e
    where e.dataset_id = c.dataset_id and e.approval_status = 'requested'
      and e.requested_at <= $1::timestamptz - c.days_for_approval * interval '24 hours'
      and (c.dataset_id > $2::text or (e.requested_at, e.end_user_id) > ($3::timestamptz, $4::bigint))
    order by e.requested_at, e.end_user_id limit ${WAITED_PAGE}) e
  where c.restriction_level in (${WAITING_LEVELS.map((level) => `'${level}'`).join(', ')})
    and c.days_for_approval >= 0 and c.dataset_id >= $2::text
  order by c.dataset_id, e.requested_at, e.end_user_id limit ${WAITED_PAGE}`;

interface WaitedRow {
  readonly end_user_id: number;
  readonly user_id: UserId;
  readonly dataset_id: CuratedId;
  readonly days_for_approval: number;
  readonly requested_at: string;
}

// The statements that list access requests, ordered by user and dataset. The first reads the total from counts that each change
// maintains, and finds the start of the page with an index-only scan. The others continue after the last row.

/** Rows in memory at once: each has up to five long texts. */
const LIST_BATCH = 100;

/** If the page is empty, a row with the total only. */
type FirstRow = RequestRow & { readonly total: number };

interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

const TOTALS: Readonly<Record<RequestStatus | 'any', string>> = {
  requested: 'requested',
  approved: 'approved',
  denied: 'denied',
  any: 'requested + approved + denied',
};

function firstStatement(filter: EndUserFilter, limit: number): Statement {
  const parameters = new SqlParameters();
  const conditions = conditionsOf(filter, parameters);
  const counted = parameters.add(filter.dataset ?? '', 'text');
  const length = parameters.add(limit, 'bigint');
  const offset = parameters.add(filter.offset, 'bigint');
  const keys = `select user_id, dataset_id from end_user where ${conditions}`;
  // A page in the second half is found from the end. `limit 1` keeps the planner from reading the whole table for the page.
  const text = `
    select c.total, ${REQUEST_COLUMNS}
    from (select ${TOTALS[filter.status ?? 'any']} as total from people_count where dataset_id = ${counted}) c
    left join lateral (
      select e.* from (
        (${keys} and ${offset} * 2 <= c.total order by user_id, dataset_id limit ${length} offset ${offset})
        union all
        (${keys} and ${offset} * 2 > c.total order by user_id desc, dataset_id desc
         limit least(${length}, greatest(c.total - ${offset}, 0)) offset greatest(c.total - ${offset} - ${length}, 0))) k
      cross join lateral (
        select * from end_user e where e.user_id = k.user_id and e.dataset_id = k.dataset_id limit 1) e) e on true
    order by e.user_id, e.dataset_id`;
  return { text, values: parameters.values };
}

function nextStatement(filter: EndUserFilter, after: AccessRequest, limit: number): Statement {
  const parameters = new SqlParameters();
  const conditions = conditionsOf(filter, parameters);
  const user = parameters.add(after.userId, 'numeric');
  const later = filter.dataset
    ? `user_id > ${user}`
    : `(user_id, dataset_id) > (${user}, ${parameters.add(after.datasetId, 'text')})`;
  const text = `
    select ${REQUEST_COLUMNS} from end_user where ${conditions} and ${later}
    order by end_user.user_id, dataset_id limit ${parameters.add(limit, 'bigint')}`;
  return { text, values: parameters.values };
}

function conditionsOf({ dataset, status }: EndUserFilter, parameters: SqlParameters): string {
  const inDataset = dataset === undefined ? 'true' : `dataset_id = ${parameters.add(dataset, 'text')}`;
  const withStatus = status === undefined ? 'true' : `approval_status = ${parameters.add(status, 'text')}`;
  return `${inDataset} and ${withStatus}`;
}
