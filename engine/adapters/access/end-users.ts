// Access requests and grants.

import {
  type AccessRequest,
  type CuratedId,
  type RequestKey,
  type SettledTerms,
  WAITING_LEVELS,
} from '../../model/access-request.ts';
import type { UserId } from '../../model/ids.ts';
import type { Cause, Page } from '../../ports/access-people.ts';
import type { EndUserFilter, EndUsers, RequestChange, WaitedRequest } from '../../ports/end-users.ts';
import type { Postgres } from '../postgres.ts';
import { SqlParameters } from '../sql-parameters.ts';
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

  async list({ dataset, status, limit, offset }: EndUserFilter, signal: AbortSignal): Promise<Page<AccessRequest>> {
    signal.throwIfAborted();
    const parameters = new SqlParameters();
    const inDataset = dataset === undefined ? 'true' : `dataset_id = ${parameters.add(dataset, 'text')}`;
    const withStatus = status === undefined ? 'true' : `approval_status = ${parameters.add(status, 'text')}`;
    const from = `from end_user where ${inDataset} and ${withStatus}`;
    const counted = [...parameters.values];
    const page = `limit ${parameters.add(limit, 'bigint')} offset ${parameters.add(offset, 'bigint')}`;
    const rows = await this.#db.query<RequestRow>(
      `select ${REQUEST_COLUMNS} ${from} order by end_user.user_id, dataset_id ${page}`,
      parameters.values,
    );
    const [count] = await this.#db.query<{ total: number }>(`select count(*) as total ${from}`, counted);
    return { items: rows.map(accessRequest), total: count?.total ?? 0 };
  }

  async find({ userId, datasetId }: RequestKey, signal: AbortSignal): Promise<AccessRequest | undefined> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<RequestRow>(
      `select ${REQUEST_COLUMNS} from end_user where user_id = $1::numeric and dataset_id = $2`,
      [userId, datasetId],
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

  async waited(now: Date, afterId: number, signal: AbortSignal): Promise<readonly WaitedRequest[]> {
    signal.throwIfAborted();
    const rows = await this.#db.query<WaitedRow>(
      `select e.end_user_id, e.user_id::text as user_id, e.dataset_id, c.days_for_approval
       from end_user e join curated_dataset c on c.dataset_id = e.dataset_id
       where e.approval_status = 'requested' and c.restriction_level = any ($1::text[]) and c.days_for_approval >= 0
         and e.requested_at + c.days_for_approval * interval '24 hours' <= $2::timestamptz and e.end_user_id > $3::bigint
       order by e.end_user_id limit ${WAITED_PAGE}`,
      [WAITING_LEVELS, now, afterId],
    );
    return rows.map((row) => ({
      id: row.end_user_id,
      userId: row.user_id,
      datasetId: row.dataset_id,
      daysForApproval: row.days_for_approval,
    }));
  }
}

interface WaitedRow {
  readonly end_user_id: number;
  readonly user_id: UserId;
  readonly dataset_id: CuratedId;
  readonly days_for_approval: number;
}
