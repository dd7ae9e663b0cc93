// The statement behind a user's listing: the page of ids comes from an index, then each dataset with all its children,
// so that memory stays the same however many there are.

import type { DatasetId, UserId } from '../model/ids.ts';
import type { ListFilter, OfferFilter, ShareStatus } from '../ports/dataset-queries.ts';
import { DATASET_COLUMNS, type DatasetRow, SHARES_COLUMN, type SharesRow } from './dataset-row.ts';
import { SqlParameters } from './sql-parameters.ts';

export interface ListRow extends DatasetRow, SharesRow {
  readonly upload_file_count: number;
  readonly upload_file_bytes: number;
}

export interface ListStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

export function listStatement(filter: ListFilter): ListStatement {
  const parameters = new SqlParameters();
  // A parameter that the statement does not use would be refused.
  const viewer = filter.ownership === 'community' ? '' : parameters.add(filter.viewer, 'numeric');
  const target =
    filter.target === undefined
      ? ''
      : `and exists (select from dataset_target t
           where t.dataset_id = d.dataset_id and t.target_id = ${parameters.add(filter.target, 'text')})`;
  const owned = `
    select d.dataset_id, d.created from dataset d where d.state = 'live' and d.owner_id = ${viewer} ${target}`;
  const shared = `
    select d.dataset_id, d.created from dataset_share s join dataset d on d.dataset_id = s.dataset_id
    where s.recipient_id = ${viewer} and s.offer = 'grant' and s.receipt = 'accept'
      and d.state = 'live' and d.owner_id <> ${viewer} ${target}`;
  const community = `
    select d.dataset_id, d.created from dataset d where d.state = 'live' and d.visibility <> 'private' ${target}`;
  const visible = { owned, shared, any: `${owned} union all ${shared}`, community }[filter.ownership];
  // A limit of null is no limit.
  const limit = parameters.add(filter.limit ?? null, 'bigint');
  const offset = parameters.add(filter.offset ?? 0, 'bigint');
  return {
    text: `
      select ${DATASET_COLUMNS}, ${SHARES_COLUMN}, d.upload_file_count, d.upload_file_bytes
      from (select v.dataset_id, v.created from (${visible}) v
        order by v.created desc, v.dataset_id limit ${limit} offset ${offset}) page
      join dataset d on d.dataset_id = page.dataset_id
      order by page.created desc, page.dataset_id`,
    values: parameters.values,
  };
}

export interface OfferRow {
  readonly dataset_id: DatasetId;
  readonly owner_id: UserId;
  readonly metadata: string;
  readonly status: ShareStatus;
}

export function offersStatement({ recipient, status, limit, offset }: OfferFilter): ListStatement {
  const parameters = new SqlParameters();
  const answers = { open: 'is null', accepted: `= 'accept'`, rejected: `= 'reject'` } as const;
  const answered = status === 'all' ? '' : `and s.receipt ${answers[status]}`;
  return {
    text: `
      select d.dataset_id, d.owner_id::text as owner_id, d.metadata::text as metadata,
        case s.receipt when 'accept' then 'accepted' when 'reject' then 'rejected' else 'open' end as status
      from dataset_share s join dataset d on d.dataset_id = s.dataset_id
      where s.recipient_id = ${parameters.add(recipient, 'numeric')} and s.offer = 'grant' and d.state = 'live' ${answered}
      order by d.created desc, d.dataset_id
      limit ${parameters.add(limit ?? null, 'bigint')} offset ${parameters.add(offset ?? 0, 'bigint')}`,
    values: parameters.values,
  };
}
