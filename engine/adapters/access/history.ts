// The history of access requests, from the images that the triggers keep.

import type { UserId } from '../../model/ids.ts';
import type { AccessHistory, HistoryEntry } from '../../ports/access-history.ts';
import type { PageRequest } from '../../ports/access-people.ts';
import type { Sql } from '../postgres.ts';
import type { RequestRow } from './request-row.ts';

interface HistoryRow extends Omit<RequestRow, 'requested_at' | 'row_version'> {
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

export class PostgresAccessHistory implements AccessHistory {
  readonly #db: Sql;

  constructor(db: Sql) {
    this.#db = db;
  }

  async list(
    of: 'all' | { readonly managedBy: UserId },
    { limit, offset }: PageRequest,
    signal: AbortSignal,
  ): Promise<readonly HistoryEntry[]> {
    signal.throwIfAborted();
    const rows = await this.#db.query<HistoryRow>(
      `select cause_user::text as cause_user, action, at, (image ->> 'end_user_id')::bigint as end_user_id,
         image ->> 'user_id' as user_id, dataset_id, ${IMAGE}, (image ->> 'start_date')::timestamptz as start_date,
         (image ->> 'duration')::bigint as duration, (image ->> 'date_denied')::timestamptz as date_denied
       from (select h.*, coalesce(h.after, h.before) as image from end_user_history h
         where $1::numeric is null or h.dataset_id in
           (select p.dataset_id from provider p where p.user_id = $1::numeric and p.is_manager)
         order by h.history_id desc limit $2::bigint offset $3::bigint) page
       order by history_id desc`,
      [of === 'all' ? null : of.managedBy, limit, offset],
    );
    return rows.map(historyEntry);
  }
}

const historyEntry = (row: HistoryRow): HistoryEntry => ({
  cause: row.cause_user,
  action: row.action,
  at: row.at,
  endUserId: row.end_user_id,
  userId: row.user_id,
  datasetId: row.dataset_id,
  terms: {
    restrictionLevel: row.restriction_level,
    approvalStatus: row.approval_status,
    startDate: row.start_date,
    durationDays: row.duration,
    purpose: row.purpose,
    researchQuestion: row.research_question,
    analysisPlan: row.analysis_plan,
    disseminationPlan: row.dissemination_plan,
    priorAuth: row.prior_auth,
    denialReason: row.denial_reason,
    dateDenied: row.date_denied ?? undefined,
  },
});
