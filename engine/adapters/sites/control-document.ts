// Writes a dataset's metadata into the control schema of one target. Always two statements, because the target's database may
// be far away.

import type { TargetId } from '../../model/ids.ts';
import { originalOf } from '../../model/metadata.ts';
import type { ControlDocument } from '../../ports/install-target.ts';
import { storedVisibility } from '../catalog/dataset-document.ts';
import type { Sql } from '../postgres/postgres.ts';
import { SqlParameters, statementName, storableText } from '../postgres/sql-parameters.ts';
import { type ControlRows, controlRows } from './control-rows.ts';

interface ControlTarget {
  readonly id: TargetId;
  readonly displayName: string;
  /** Quoted. */
  readonly schema: string;
}

/** False, with nothing written, when a holder with a higher token has written before. Runs in the caller's transaction. */
export async function writeControlDocument(
  sql: Sql,
  target: ControlTarget,
  document: ControlDocument,
  token: number,
): Promise<boolean> {
  const tables = controlRows(document.metadata);
  const parameters = new SqlParameters();
  const text = `with ${upserts(target, document, token, parameters).join(',\n')},
     ${removals(target, tables).join(',\n')}
     select dataset_id from upserted`;
  const replaced = await sql.query(text, parameters.values, statementName(text));
  if (replaced.length === 0) return false;
  await insertRows(sql, target, document, tables);
  return true;
}

/**
 * Updates the dataset's own row from its targets: the most active status and the most visible accessibility win.
 * @param dataset placeholder of its id
 */
export const summarise = (schema: string, dataset: string): string => `
  update ${schema}.dataset d set deleted_status = i.deleted_status, accessibility = i.accessibility
  from (select case when 0 = any (array_agg(deleted_status)) then 0
          when 2 = any (array_agg(deleted_status)) then 2 else 1 end as deleted_status,
          -- 'public' comes after 'protected'.
          coalesce(max(accessibility) filter (where accessibility <> 'private'), 'private') as accessibility
        from ${schema}.dataset_install where dataset_id = ${dataset} having count(*) > 0) i
  where d.dataset_id = ${dataset} and (d.deleted_status, d.accessibility) <> (i.deleted_status, i.accessibility)`;

/** CTEs. `upserted` is empty, and nothing is written, when the token is too low. */
function upserts(
  { id, displayName, schema }: ControlTarget,
  { owner, dataset, metadata, category, showVisibility }: ControlDocument,
  token: number,
  parameters: SqlParameters,
): string[] {
  const time = new Date(metadata.created);
  const created = parameters.add(Number.isNaN(time.getTime()) ? null : time, 'timestamptz');
  const accessibility = parameters.add(showVisibility ? storedVisibility(metadata.visibility) : 'private', 'text');
  const target = parameters.add(id, 'text');
  return [
    `upserted as (
      insert into ${schema}.dataset as d (dataset_id, original_id, owner, type_name, type_version, category, deleted_status,
        accessibility, days_for_approval, creation_date, lease_token)
      values (${parameters.add(dataset, 'text')}, ${parameters.add(originalOf(dataset, metadata), 'text')},
        ${parameters.add(owner, 'numeric')},
        ${parameters.add(storableText(metadata.type.name), 'text')},
        ${parameters.add(storableText(metadata.type.version), 'text')}, ${parameters.add(category, 'text')}, 0,
        ${accessibility}, ${parameters.add(metadata.daysForApproval, 'integer')}, coalesce(${created}, now()),
        ${parameters.add(token, 'bigint')})
      on conflict (dataset_id) do update set original_id = excluded.original_id, owner = excluded.owner, type_name = excluded.type_name,
        type_version = excluded.type_version, category = excluded.category,
        days_for_approval = excluded.days_for_approval, creation_date = coalesce(${created}, d.creation_date),
        lease_token = excluded.lease_token
      where d.lease_token <= excluded.lease_token
      returning d.dataset_id, d.owner)`,
    `installed as (
      insert into ${schema}.dataset_install (dataset_id, target_id, accessibility)
      select dataset_id, ${target}, ${accessibility} from upserted
      on conflict (dataset_id, target_id) do update set accessibility = excluded.accessibility)`,
    `project as (
      insert into ${schema}.dataset_project (dataset_id, project_id, project_display_name)
      select dataset_id, ${target}, ${parameters.add(displayName, 'text')} from upserted
      on conflict (dataset_id, project_id) do update set project_display_name = excluded.project_display_name)`,
    `visible as (
      insert into ${schema}.dataset_visibility (user_id, dataset_id) select owner, dataset_id from upserted
      on conflict do nothing)`,
  ];
}

const removals = ({ schema }: ControlTarget, tables: readonly ControlRows[]): string[] =>
  tables.map(
    ({ table }, n) => `r${n} as (delete from ${schema}.${table} r using upserted u where r.dataset_id = u.dataset_id)`,
  );

/**
 * A separate statement, because one statement cannot insert a row where it deletes one. It names every table, even those
 * without rows, so that its text is constant and it is planned once: planning takes longer than execution.
 */
async function insertRows(
  sql: Sql,
  { schema }: ControlTarget,
  { dataset }: ControlDocument,
  tables: readonly ControlRows[],
): Promise<void> {
  const parameters = new SqlParameters();
  const id = parameters.add(dataset, 'text');
  const inserts = tables.map(({ table, columns, rows }, n) => {
    const arrays = Object.values(columns).map((type, at) =>
      parameters.add(
        rows.map((row) => row[at]),
        type,
      ),
    );
    return `i${n} as (insert into ${schema}.${table} (dataset_id, ${Object.keys(columns).join(', ')})
        select ${id}, x.* from unnest(${arrays.join(', ')}) x)`;
  });
  const text = `with ${inserts.join(',\n')} ${summarise(schema, id)}`;
  await sql.query(text, parameters.values, statementName(text));
}
