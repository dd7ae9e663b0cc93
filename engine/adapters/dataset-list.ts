// The statement behind a user's listing: the page of ids comes from an index, then each dataset with all its children,
// so that memory stays the same however many there are.

import type { ListFilter } from '../ports/dataset-queries.ts';
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
  const viewer = parameters.add(filter.viewer, 'numeric');
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
  const visible = { owned, shared, any: `${owned} union all ${shared}` }[filter.ownership];
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
