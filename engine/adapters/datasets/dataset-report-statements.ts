// The statements for the reports on all datasets. Bounds in subselects (`(select $1)`) are unknown to the planner. So it uses
// one plan wherever a page begins, on the index with the page's order, without sorting.

import type { ReportFilter } from '../../ports/dataset-queries.ts';
import { DATASET_COLUMNS } from '../catalog/dataset-row.ts';
import { SqlParameters } from '../postgres/sql-parameters.ts';
import { conditions } from './dataset-list-statements.ts';

const ORDER = 'd.created, d.dataset_id';
const AFTER = '(d.created, d.dataset_id) > ((select $1::timestamptz), (select $2::text))';
const BEFORE = '(d.created, d.dataset_id) < ((select $1::timestamptz), (select $2::text))';

/** Literals, so that the partial index with just these rows is used; rows with other states are never read. */
const LIVE = "d.state in ('live', 'superseded')";
const WITH_DELETED = "d.state <> 'receiving'";

/** One index lookup per dataset; a join would read all targets for every page. */
const named = (spellings: string): string =>
  `coalesce((select true from dataset_target t
    where t.dataset_id = d.dataset_id and t.target_id = any (${spellings}) limit 1), false)`;

/** $1 how many rows to skip, minus one; then the spellings of a target. The outer columns are not computed for skipped rows. */
const start = (shown: string, more = ''): string => `
  select s.created::text as position, s.dataset_id from (
    select d.created, d.dataset_id from dataset d where ${shown} ${more}
    order by ${ORDER} limit 1 offset (select $1::bigint)) s`;

/** $1, $2 the place after which the page begins; $3 the limit; then the spellings of a target. */
const page = (shown: string, more = ''): string => `
  select ${DATASET_COLUMNS}, d.created::text as position
  from dataset d where ${AFTER} and ${shown} ${more}
  order by ${ORDER} limit (select $3::bigint)`;

interface PageStatements {
  readonly start: string;
  readonly page: string;
}

const statements = (shown: string): { readonly all: PageStatements; readonly ofTarget: PageStatements } => ({
  all: { start: start(shown), page: page(shown) },
  ofTarget: {
    start: start(shown, `and ${named('$2::text[]')}`),
    page: page(shown, `and ${named('$4::text[]')}`),
  },
});

export const LIVE_DATASETS = statements(LIVE);
export const DATASETS_WITH_DELETED = statements(WITH_DELETED);

/** As {@link LIVE_DATASETS} and {@link DATASETS_WITH_DELETED}, for filters other than the target. */
export class NarrowedStatements {
  readonly #filter: ReportFilter;
  readonly #spellings: readonly string[] | undefined;
  readonly #shown: string;

  /** @param spellings of the filter's target */
  constructor(filter: ReportFilter, spellings: readonly string[] | undefined) {
    this.#filter = filter;
    this.#spellings = spellings;
    this.#shown = filter.includeDeleted ? WITH_DELETED : LIVE;
  }

  /** @param first the values that the statement itself takes */
  start = (...first: readonly unknown[]) => this.#statement((more) => start(this.#shown, more), first);
  page = (...first: readonly unknown[]) => this.#statement((more) => page(this.#shown, more), first);
  count = () => this.#statement((more) => `select count(*) as total from dataset d where ${this.#shown} ${more}`, []);

  #statement(textOf: (more: string) => string, first: readonly unknown[]) {
    const parameters = new SqlParameters();
    for (const value of first) parameters.add(value, 'text');
    const { target: _spelled, owner, ...rest } = this.#filter;
    const ofTarget = this.#spellings ? `and ${named(parameters.add(this.#spellings, 'text[]'))}` : '';
    const text = textOf(`${owned(owner, parameters)} ${ofTarget} ${conditions(rest, parameters)}`);
    return { text, values: parameters.values };
  }
}

/** By the index in the order of the store's keys: a dataset's key begins with its owner. */
function owned(owner: ReportFilter['owner'], parameters: SqlParameters): string {
  if (owner === undefined) return '';
  const key = `(d.owner_id::text || '/' || d.dataset_id || '/') collate "C"`;
  const id = parameters.add(owner, 'text');
  // '0' follows '/'.
  return `and d.state <> 'receiving' and ${key} >= ${id} || '/' and ${key} < ${id} || '0'`;
}

/** $1 the states that do not count. Subtracts from the total, because the index of datasets that are not live is small. */
export const ALL_COUNT = `
  select (select count(*) from dataset)
    - (select count(*) from dataset d where d.state <> 'live' and d.state = any ($1::text[])) as total`;

/** $2 the spellings of a target. */
export const TARGET_COUNT = `
  select (select count(distinct t.dataset_id) from dataset_target t where t.target_id = any ($2::text[]))
    - (select count(*) from dataset d
       where d.state <> 'live' and d.state = any ($1::text[]) and ${named('$2::text[]')}) as total`;

/** Jumps from one target to the next in the index, however many datasets each has. */
export const TARGET_SPELLINGS = `
  with recursive spelling as (
    (select target_id from dataset_target order by target_id limit 1)
    union all
    select (select t.target_id from dataset_target t where t.target_id > s.target_id order by t.target_id limit 1)
    from spelling s where s.target_id is not null)
  select target_id from spelling where lower(target_id) = lower($1::text)`;

export const FIND = `
  select ${DATASET_COLUMNS}, d.inserted from dataset d where d.dataset_id = $1 and d.state <> 'receiving'`;

/** $1, $2 the place after which the page begins; $3 the limit; $4 the offset; $5 owner, $6 before, $7 after, or null. */
const failedImports = (beyond: string, order: string): string => `
  select f.*, array(select t.target_id from dataset_target t where t.dataset_id = f.dataset_id) as targets
  from (
    select d.dataset_id, d.owner_id::text as owner_id, d.type_name, d.type_version, d.import_messages, d.created,
      d.created::text as position
    from dataset d
    where d.import_status = 'failed' and d.state = 'live' and ${beyond}
      and d.owner_id = coalesce($5::numeric, d.owner_id)
      and d.created < coalesce($6::timestamptz, 'infinity') and d.created >= coalesce($7::timestamptz, '-infinity')
    order by ${order} limit (select $3::bigint) offset (select $4::bigint)) f
  order by ${order.replaceAll('d.', 'f.')}`;

export const FAILED_IMPORTS = {
  asc: failedImports(AFTER, ORDER),
  desc: failedImports(BEFORE, 'd.created desc, d.dataset_id desc'),
} as const;

/** $1, $2 target and dataset after which the page begins; $3 the limit. The status is a literal, for the partial index. */
const stuckInstalls = (status: string): string => `
  select ${DATASET_COLUMNS}, i.target_id as stuck_target
  from install_status i join dataset d on d.dataset_id = i.dataset_id
  where i.status = '${status}' and (i.target_id, i.dataset_id) > ((select $1::text), (select $2::text))
    and d.state = 'live'
    and not exists (select from install_status j
      where j.dataset_id = i.dataset_id and j.status = i.status and (j.target_id, j.kind) < (i.target_id, i.kind))
  order by i.target_id, i.dataset_id limit (select $3::bigint)`;

export const STUCK_INSTALLS = {
  'failed-installation': stuckInstalls('failed-installation'),
  'missing-dependency': stuckInstalls('missing-dependency'),
} as const;

export const STATUSES = `
  select case when state <> 'live' then state when upload_status <> 'success' then 'upload-' || upload_status
    else import_status end as status, count(*)::integer as datasets
  from dataset where state <> 'receiving' group by 1`;
