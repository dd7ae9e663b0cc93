// The parts of a statement that writes a dataset's metadata into the control schema of one target. All rows go into one
// statement, because the target's database may be far away.

import type { DatasetId } from '../../model/ids.ts';
import { originalOf } from '../../model/metadata.ts';
import type { ControlDocument } from '../../ports/install-target.ts';
import { storedVisibility } from '../catalog/dataset-document.ts';
import { type SqlParameters, storableText } from '../postgres/sql-parameters.ts';
import { type ControlTarget, isCurrent, summary } from './control-fence.ts';
import { type ControlRows, controlRows } from './control-rows.ts';

/**
 * CTEs. `taken` has the dataset's id. It is empty, and nothing is written, when the token is too low or the statement is out of
 * date.
 * @param onlyNew nothing is written when the target has a row
 */
export function documentCtes(
  target: ControlTarget,
  dataset: DatasetId,
  { owner, metadata, category, showVisibility, written = false }: ControlDocument,
  token: number,
  parameters: SqlParameters,
  onlyNew = false,
): string[] {
  const { id, displayName, schema } = target;
  const accessibility = parameters.add(showVisibility ? storedVisibility(metadata.visibility) : 'private', 'text');
  const time = new Date(metadata.created);
  const created = parameters.add(Number.isNaN(time.getTime()) ? null : time, 'timestamptz');
  return [
    summary(target, dataset, { accessibility }, parameters),
    `taken as (
      insert into ${schema}.dataset as d (dataset_id, original_id, owner, type_name, type_version, category, deleted_status,
        accessibility, days_for_approval, creation_date, lease_token)
      select ${parameters.add(dataset, 'text')}, ${parameters.add(originalOf(dataset, metadata), 'text')},
        ${parameters.add(owner, 'numeric')},
        ${parameters.add(storableText(metadata.type.name), 'text')},
        ${parameters.add(storableText(metadata.type.version), 'text')}, ${parameters.add(category, 'text')},
        s.deleted_status, s.accessibility, ${parameters.add(metadata.daysForApproval, 'integer')},
        coalesce(${created}, now()), ${parameters.add(token, 'bigint')}
      from summary s${
        onlyNew
          ? ` where not exists (select from ${schema}.dataset_install o
          where o.dataset_id = ${parameters.add(dataset, 'text')} and o.target_id = ${parameters.add(id, 'text')})`
          : ''
      }
      on conflict (dataset_id) do update set original_id = excluded.original_id, owner = excluded.owner, type_name = excluded.type_name,
        type_version = excluded.type_version, category = excluded.category, deleted_status = excluded.deleted_status,
        accessibility = excluded.accessibility, days_for_approval = excluded.days_for_approval,
        creation_date = coalesce(${created}, d.creation_date), lease_token = excluded.lease_token
      where d.lease_token <= excluded.lease_token and ${isCurrent(schema)}
      returning d.dataset_id, d.owner)`,
    `installed as (
      insert into ${schema}.dataset_install (dataset_id, target_id, accessibility)
      select dataset_id, ${parameters.add(id, 'text')}, ${accessibility} from taken
      on conflict (dataset_id, target_id) do update set accessibility = excluded.accessibility)`,
    `project as (
      insert into ${schema}.dataset_project (dataset_id, project_id, project_display_name)
      select dataset_id, ${parameters.add(id, 'text')}, ${parameters.add(displayName, 'text')} from taken
      on conflict (dataset_id, project_id) do update set project_display_name = excluded.project_display_name)`,
    `visible as (
      insert into ${schema}.dataset_visibility (user_id, dataset_id) select owner, dataset_id from taken
      on conflict do nothing)`,
    ...(written ? [] : controlRows(metadata)).flatMap((rows) => replaceRows(schema, rows, parameters)),
  ];
}

/**
 * Rows that stay are updated, because one statement cannot insert a row where it deletes one. Tables without rows are named,
 * too, so that the text is constant and planned once: planning takes longer than execution.
 */
function replaceRows(schema: string, { table, key, columns, rows }: ControlRows, parameters: SqlParameters): string[] {
  const names = Object.keys(columns);
  const arrays = Object.values(columns).map((type, at) =>
    parameters.add(
      rows.map((row) => row[at]),
      type,
    ),
  );
  const keys = key === undefined ? [] : [key];
  const values = names.filter((name) => name !== key).map((name) => `${name} = excluded.${name}`);
  const gone = key === undefined ? `cardinality(${arrays[0]}) = 0` : `r.${key} <> all (${arrays[names.indexOf(key)]})`;
  return [
    `no_${table} as (
      delete from ${schema}.${table} r using taken k where r.dataset_id = k.dataset_id and ${gone})`,
    `${table} as (
      insert into ${schema}.${table} (dataset_id, ${names.join(', ')})
      select k.dataset_id, x.* from taken k cross join unnest(${arrays.join(', ')}) x
      on conflict (${['dataset_id', ...keys].join(', ')}) do update set ${values.join(', ')})`,
  ];
}
