// The parts of a statement that writes a dataset's metadata into the control schema of one target. All rows go into one
// statement, because the target's database may be far away.

import type { DatasetId } from '../../model/ids.ts';
import { type DatasetMetadata, originalOf } from '../../model/metadata.ts';
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
  document: ControlDocument,
  token: number,
  parameters: SqlParameters,
  onlyNew = false,
): string[] {
  const { id, schema } = target;
  const { metadata, written = false } = document;
  const accessibility = parameters.add(shown(document), 'text');
  const created = parameters.add(createdAt(metadata), 'timestamptz');
  return [
    summary(target, dataset, { accessibility }, parameters),
    `taken as (
      insert into ${schema}.dataset as d (${COLUMNS})
      select ${values(dataset, document, token, created, parameters)}, s.deleted_status, s.accessibility
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
    ...partCtes(target, accessibility, parameters),
    ...(written ? [] : controlRows(metadata)).flatMap((rows) => replaceRows(schema, rows, parameters)),
  ];
}

/**
 * CTEs for a dataset that no target of the schema has, in a third of the time: there is nothing to replace. `taken` is empty, and
 * nothing is written, when the schema has a row. Most small datasets have a name and a summary only, so there are two texts: one
 * that names no other table, and one that names all.
 */
export function newDocumentCtes(
  target: ControlTarget,
  dataset: DatasetId,
  document: ControlDocument,
  token: number,
  parameters: SqlParameters,
): string[] {
  const { schema } = target;
  const accessibility = parameters.add(shown(document), 'text');
  const created = parameters.add(createdAt(document.metadata), 'timestamptz');
  const tables = controlRows(document.metadata);
  const isBrief = tables.every(({ table, rows }) => table === 'dataset_meta' || rows.length === 0);
  const named = isBrief ? tables.filter(({ table }) => table === 'dataset_meta') : tables;
  return [
    `taken as (
      insert into ${schema}.dataset (${COLUMNS})
      values (${values(dataset, document, token, created, parameters)}, 0, ${accessibility})
      on conflict do nothing returning dataset_id, owner)`,
    ...partCtes(target, accessibility, parameters),
    ...named.map((rows) => insertRows(schema, rows, arraysOf(rows, parameters))),
  ];
}

const shown = ({ showVisibility, metadata }: ControlDocument): string =>
  showVisibility ? storedVisibility(metadata.visibility) : 'private';

function createdAt({ created }: DatasetMetadata): Date | null {
  const time = new Date(created);
  return Number.isNaN(time.getTime()) ? null : time;
}

const COLUMNS = `dataset_id, original_id, owner, type_name, type_version, category, days_for_approval, creation_date, lease_token,
        deleted_status, accessibility`;

/** Of {@link COLUMNS}, without the last two. */
const values = (
  dataset: DatasetId,
  { owner, metadata, category }: ControlDocument,
  token: number,
  created: string,
  parameters: SqlParameters,
): string =>
  `${parameters.add(dataset, 'text')}, ${parameters.add(originalOf(dataset, metadata), 'text')},
        ${parameters.add(owner, 'numeric')}, ${parameters.add(storableText(metadata.type.name), 'text')},
        ${parameters.add(storableText(metadata.type.version), 'text')}, ${parameters.add(category, 'text')},
        ${parameters.add(metadata.daysForApproval, 'integer')}, coalesce(${created}, now()), ${parameters.add(token, 'bigint')}`;

/** The rows of the target itself. */
const partCtes = (
  { id, displayName, schema }: ControlTarget,
  accessibility: string,
  parameters: SqlParameters,
): readonly string[] => [
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
];

/**
 * Rows that stay are updated, because one statement cannot insert a row where it deletes one. Tables without rows are named,
 * too, so that the text is constant and planned once: planning takes longer than execution.
 */
function replaceRows(schema: string, table: ControlRows, parameters: SqlParameters): string[] {
  const { key } = table;
  const arrays = arraysOf(table, parameters);
  const at = key === undefined ? 0 : Object.keys(table.columns).indexOf(key);
  const gone = key === undefined ? `cardinality(${arrays[at]}) = 0` : `r.${key} <> all (${arrays[at]})`;
  return [
    `no_${table.table} as (
      delete from ${schema}.${table.table} r using taken k where r.dataset_id = k.dataset_id and ${gone})`,
    insertRows(schema, table, arrays),
  ];
}

/** A parameter for each column. */
const arraysOf = ({ columns, rows }: ControlRows, parameters: SqlParameters): readonly string[] =>
  Object.values(columns).map((type, at) =>
    parameters.add(
      rows.map((row) => row[at]),
      type,
    ),
  );

function insertRows(schema: string, { table, key, columns }: ControlRows, arrays: readonly string[]): string {
  const names = Object.keys(columns);
  const keys = key === undefined ? [] : [key];
  const changes = names.filter((name) => name !== key).map((name) => `${name} = excluded.${name}`);
  return `${table} as (
      insert into ${schema}.${table} (dataset_id, ${names.join(', ')})
      select k.dataset_id, x.* from taken k cross join unnest(${arrays.join(', ')}) x
      on conflict (${['dataset_id', ...keys].join(', ')}) do update set ${changes.join(', ')})`;
}
