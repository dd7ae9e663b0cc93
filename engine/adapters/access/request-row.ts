// Maps an access request to its row.

import type {
  AccessRequest,
  CuratedId,
  RequestKey,
  RequestStatus,
  RestrictionLevel,
  SettledTerms,
} from '../../model/access-request.ts';
import type { UserId } from '../../model/ids.ts';
import type { Sql } from '../postgres/postgres.ts';

export interface RequestRow {
  readonly end_user_id: number;
  readonly user_id: UserId;
  readonly dataset_id: CuratedId;
  readonly restriction_level: RestrictionLevel;
  readonly approval_status: RequestStatus;
  readonly start_date: Date;
  readonly duration: number;
  readonly purpose: string;
  readonly research_question: string;
  readonly analysis_plan: string;
  readonly dissemination_plan: string;
  readonly prior_auth: string;
  readonly denial_reason: string;
  readonly date_denied: Date | null;
  readonly requested_at: Date;
  readonly row_version: number;
}

export const REQUEST_COLUMNS = `end_user_id, user_id::text as user_id, dataset_id, restriction_level, approval_status,
  start_date, duration, purpose, research_question, analysis_plan, dissemination_plan, prior_auth, denial_reason,
  date_denied, requested_at, row_version`;

/** The terms in a row of a request, or in an image of one. */
export const accessTerms = (
  row: Omit<RequestRow, 'requested_at' | 'row_version'>,
): Omit<SettledTerms, 'requestedAt'> => ({
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
});

export const accessRequest = (row: RequestRow): AccessRequest => ({
  id: row.end_user_id,
  version: row.row_version,
  userId: row.user_id,
  datasetId: row.dataset_id,
  ...accessTerms(row),
  requestedAt: row.requested_at,
});

/** Values of the columns after the key, in the order of the table. */
const termValues = (terms: SettledTerms): readonly unknown[] => [
  terms.restrictionLevel,
  terms.approvalStatus,
  terms.startDate,
  terms.durationDays,
  terms.purpose,
  terms.researchQuestion,
  terms.analysisPlan,
  terms.disseminationPlan,
  terms.priorAuth,
  terms.denialReason,
  terms.dateDenied ?? null,
  terms.requestedAt,
];

const TERM_COLUMNS = `restriction_level, approval_status, start_date, duration, purpose, research_question,
  analysis_plan, dissemination_plan, prior_auth, denial_reason, date_denied, requested_at`;

/** False when the request exists already. */
export async function insertRequest(
  sql: Sql,
  { userId, datasetId }: RequestKey,
  terms: SettledTerms,
): Promise<boolean> {
  const rows = await sql.query(
    `insert into end_user (user_id, dataset_id, ${TERM_COLUMNS})
     values ($1::numeric, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
     on conflict (user_id, dataset_id) do nothing returning end_user_id`,
    [userId, datasetId, ...termValues(terms)],
  );
  return rows.length > 0;
}

export async function updateRequest(sql: Sql, id: number, terms: SettledTerms): Promise<void> {
  await sql.query(
    `update end_user set (${TERM_COLUMNS}) = ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13),
       row_version = row_version + 1
     where end_user_id = $1`,
    [id, ...termValues(terms)],
  );
}

/** The row, locked until the end of the transaction. */
export async function lockRequest(sql: Sql, { userId, datasetId }: RequestKey): Promise<AccessRequest | undefined> {
  const [row] = await sql.query<RequestRow>(
    `select ${REQUEST_COLUMNS} from end_user where user_id = $1::numeric and dataset_id = $2 for update`,
    [userId, datasetId],
  );
  return row && accessRequest(row);
}
