// The statements for a user's listings, one page at a time: the page's ids come from an index, then each dataset is read with
// all its children. No connection is held between pages, however slowly the list is read.

import type { DatasetId, UserId } from '../../model/ids.ts';
import type { ListFilter, OfferFilter, ShareStatus } from '../../ports/dataset-queries.ts';
import { SHARES_COLUMN, SHOWN_COLUMNS, type SharesRow, type ShownRow } from '../catalog/dataset-row.ts';
import { SqlParameters } from '../postgres/sql-parameters.ts';

/** The last dataset of the previous page; `created` is text to keep the database's full precision. */
export interface PageEnd {
  readonly created_text: string;
  readonly dataset_id: DatasetId;
}

export interface ListRow extends ShownRow, SharesRow, PageEnd {
  readonly dataset_id: DatasetId;
  readonly upload_file_count: number;
  readonly upload_file_bytes: number;
}

export interface ListStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** @param after end of the previous page; the offset then does not apply again */
export function listStatement(filter: ListFilter, after?: PageEnd): ListStatement {
  const parameters = new SqlParameters();
  // PostgreSQL rejects parameters that the statement does not use.
  const viewer = filter.ownership === 'community' ? '' : parameters.add(filter.viewer, 'numeric');
  const target =
    filter.target === undefined
      ? ''
      : // One index lookup per dataset: a join sometimes reads the whole table.
        `and coalesce((select true from dataset_target t where t.dataset_id = d.dataset_id
           and t.target_id = ${parameters.add(filter.target, 'text')} limit 1), false)`;
  const rest = `${target} ${laterThan(after, parameters)}`;
  const owned = `
    select d.dataset_id, d.created from dataset d where d.state = 'live' and d.owner_id = ${viewer} ${rest}`;
  const shared = `
    select d.dataset_id, d.created from dataset_share s join dataset d on d.dataset_id = s.dataset_id
    where s.recipient_id = ${viewer} and s.offer = 'grant' and s.receipt = 'accept'
      and d.state = 'live' and d.owner_id <> ${viewer} ${rest}`;
  const community = `
    select d.dataset_id, d.created from dataset d where d.state = 'live' and d.visibility <> 'private' ${rest}`;
  const visible = { owned, shared, any: `${owned} union all ${shared}`, community }[filter.ownership];
  // A limit of null means no limit.
  const limit = parameters.add(filter.limit ?? null, 'bigint');
  const offset = parameters.add(after ? 0 : (filter.offset ?? 0), 'bigint');
  return {
    text: `
      select ${SHOWN_COLUMNS}, ${SHARES_COLUMN}, d.upload_file_count, d.upload_file_bytes,
        page.created::text as created_text
      from (select v.dataset_id, v.created from (${visible}) v
        order by v.created desc, v.dataset_id limit ${limit} offset ${offset}) page
      join dataset d on d.dataset_id = page.dataset_id
      order by page.created desc, page.dataset_id`,
    values: parameters.values,
  };
}

/** Order: newest first, ties by id. */
function laterThan(after: PageEnd | undefined, parameters: SqlParameters): string {
  if (!after) return '';
  const created = `${parameters.add(after.created_text, 'text')}::timestamptz`;
  const id = parameters.add(after.dataset_id, 'text');
  return `and d.created <= ${created} and (d.created < ${created} or d.dataset_id > ${id})`;
}

export interface OfferRow extends PageEnd {
  readonly owner_id: UserId;
  readonly metadata: string;
  readonly status: ShareStatus;
}

export function offersStatement(filter: OfferFilter, after?: PageEnd): ListStatement {
  const { recipient, status, limit, offset } = filter;
  const parameters = new SqlParameters();
  const answers = { open: 'is null', accepted: `= 'accept'`, rejected: `= 'reject'` } as const;
  const answered = status === 'all' ? '' : `and s.receipt ${answers[status]}`;
  return {
    text: `
      select d.dataset_id, d.owner_id::text as owner_id, d.metadata::text as metadata,
        d.created::text as created_text,
        case s.receipt when 'accept' then 'accepted' when 'reject' then 'rejected' else 'open' end as status
      from dataset_share s join dataset d on d.dataset_id = s.dataset_id
      where s.recipient_id = ${parameters.add(recipient, 'numeric')} and s.offer = 'grant' and d.state = 'live' ${answered}
        ${laterThan(after, parameters)}
      order by d.created desc, d.dataset_id
      limit ${parameters.add(limit ?? null, 'bigint')} offset ${parameters.add(after ? 0 : (offset ?? 0), 'bigint')}`,
    values: parameters.values,
  };
}
