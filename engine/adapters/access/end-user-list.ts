// The statements that list access requests, ordered by user and dataset. The first reads the total from counts that each change
// maintains, and finds the start of the page with an index-only scan. The others continue after the last row.

import type { AccessRequest, RequestStatus } from '../../model/access-request.ts';
import type { EndUserFilter } from '../../ports/access-requests.ts';
import { SqlParameters } from '../postgres/sql-parameters.ts';
import { REQUEST_COLUMNS, type RequestRow } from './request-row.ts';

/** Rows in memory at once: each has up to five long texts. */
export const LIST_BATCH = 100;

/** If the page is empty, a row with the total only. */
export type FirstRow = RequestRow & { readonly total: number };

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

export function firstStatement(filter: EndUserFilter, limit: number): Statement {
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

export function nextStatement(filter: EndUserFilter, after: AccessRequest, limit: number): Statement {
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
