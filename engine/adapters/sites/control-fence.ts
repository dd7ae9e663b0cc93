// The parts of statements that lock a dataset's row in a control schema, and that derive the row from the dataset's targets.
//
// A statement reads from a snapshot that is older than its lock. If another target of the schema, or an earlier holder of the
// lease, wrote in between, a statement whose writes depend on what it read must not write: `isCurrent` is its condition. Every
// write that changes what such a statement reads also updates the dataset's row.

import type { DatasetId, TargetId } from '../../model/ids.ts';
import type { SqlParameters } from '../postgres/sql-parameters.ts';

/** One target's part of a control schema. */
export interface ControlTarget {
  readonly id: TargetId;
  readonly displayName: string;
  /** Quoted. */
  readonly schema: string;
}

/** Of the locked row `d`: it is still the version that the statement's snapshot contains. */
export const isCurrent = (schema: string): string =>
  `d.xmin = (select seen.xmin from ${schema}.dataset seen where seen.dataset_id = d.dataset_id)`;

/**
 * CTEs that lock the dataset's row under our token. If a holder with a higher token has written before, or this target has no
 * row, `taken` is empty and the CTEs that depend on it do nothing.
 */
export function fence(target: ControlTarget, dataset: DatasetId, token: number, parameters: SqlParameters): string[] {
  const ours = parameters.add(token, 'bigint');
  return [
    taken(target, dataset, ours, parameters),
    `raised as (
      update ${target.schema}.dataset d set lease_token = ${ours} from taken k
      where d.dataset_id = k.dataset_id and k.lease_token < ${ours})`,
  ];
}

/** CTEs that set the target's deletion status. The fence is as above, and `taken` is also empty when it is out of date. */
export function deletedCtes(
  target: ControlTarget,
  dataset: DatasetId,
  deletedStatus: 0 | 1 | 2,
  token: number,
  parameters: SqlParameters,
): string[] {
  const { id, schema } = target;
  const status = parameters.add(deletedStatus, 'smallint');
  const ours = parameters.add(token, 'bigint');
  return [
    summary(target, dataset, { deleted_status: status }, parameters),
    taken(target, dataset, ours, parameters, isCurrent(schema)),
    `marked as (
      update ${schema}.dataset_install i set deleted_status = ${status} from taken k
      where i.dataset_id = k.dataset_id and i.target_id = ${parameters.add(id, 'text')})`,
    `followed as (
      update ${schema}.dataset d set lease_token = ${ours}, deleted_status = s.deleted_status, accessibility = s.accessibility
      from taken k cross join summary s where d.dataset_id = k.dataset_id)`,
  ];
}

/** CTEs that remove the target's part of the dataset and, with the last part, the dataset's row. Fenced like the others. */
export function purgeCtes(
  target: ControlTarget,
  dataset: DatasetId,
  token: number,
  parameters: SqlParameters,
): string[] {
  const { id, schema } = target;
  const ours = parameters.add(token, 'bigint');
  const others = `from ${schema}.dataset_install i
    where i.dataset_id = k.dataset_id and i.target_id <> ${parameters.add(id, 'text')}`;
  return [
    taken(target, dataset, ours, parameters, isCurrent(schema)),
    `removed as (
      delete from ${schema}.dataset_install i using taken k
      where i.dataset_id = k.dataset_id and i.target_id = ${parameters.add(id, 'text')})`,
    `gone as (
      delete from ${schema}.dataset d using taken k where d.dataset_id = k.dataset_id and not exists (select ${others}))`,
    `followed as (
      update ${schema}.dataset d set lease_token = ${ours}, deleted_status = x.deleted_status, accessibility = x.accessibility
      from taken k cross join lateral (select ${SUMMARY} ${others}) x
      where d.dataset_id = k.dataset_id and exists (select ${others}))`,
  ];
}

function taken(
  { id, schema }: ControlTarget,
  dataset: DatasetId,
  ours: string,
  parameters: SqlParameters,
  condition = 'true',
): string {
  return `taken as materialized (
    select d.dataset_id, d.owner, d.lease_token from ${schema}.dataset d
    where d.dataset_id = ${parameters.add(dataset, 'text')} and d.lease_token <= ${ours} and ${condition}
      and exists (select from ${schema}.dataset_install i
        where i.dataset_id = d.dataset_id and i.target_id = ${parameters.add(id, 'text')})
    for update of d)`;
}

/** From a dataset's installs `i` on its targets: the most active status and the most visible accessibility win. */
const SUMMARY = `
  case when 0 = any (array_agg(i.deleted_status)) then 0
    when 2 = any (array_agg(i.deleted_status)) then 2 else 1 end as deleted_status,
  -- 'public' comes after 'protected'.
  coalesce(max(i.accessibility) filter (where i.accessibility <> 'private'), 'private') as accessibility`;

/**
 * The CTE with what the dataset's own row has of its targets.
 * @param own what is about to change on this target, as SQL; the rest stays, or begins as 0 and private
 */
export function summary(
  { id, schema }: ControlTarget,
  dataset: DatasetId,
  own: { readonly deleted_status?: string; readonly accessibility?: string },
  parameters: SqlParameters,
): string {
  const [of, target] = [parameters.add(dataset, 'text'), parameters.add(id, 'text')];
  return `summary as (
    select ${SUMMARY} from (
      select ${own.deleted_status ?? 'coalesce(n.deleted_status, 0)'} as deleted_status,
        ${own.accessibility ?? `coalesce(n.accessibility, 'private')`} as accessibility
      from (select) one left join ${schema}.dataset_install n on n.dataset_id = ${of} and n.target_id = ${target}
      union all
      select n.deleted_status, n.accessibility from ${schema}.dataset_install n
      where n.dataset_id = ${of} and n.target_id <> ${target}) i)`;
}
