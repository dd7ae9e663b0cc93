// Writes what the owner said about a dataset into the control schema of one target. Four statements, whatever the
// metadata holds: the target's database may be far away.

import type { TargetId } from '../model/ids.ts';
import type { StoredVisibility } from '../model/status.ts';
import type { ControlDocument } from '../ports/install-target.ts';
import { controlRows } from './control-rows.ts';
import { storedVisibility } from './dataset-document.ts';
import type { Sql } from './postgres.ts';
import { SqlParameters } from './sql-parameters.ts';
import { storableText } from './storable-text.ts';

export interface ControlTarget {
  readonly id: TargetId;
  readonly displayName: string;
  /** Quoted. */
  readonly schema: string;
}

/** False, with nothing written, when a holder with a higher token wrote before. Part of the caller's transaction. */
export async function writeControlDocument(
  sql: Sql,
  target: ControlTarget,
  document: ControlDocument,
  token: number,
): Promise<boolean> {
  const accessibility = document.showVisibility ? storedVisibility(document.metadata.visibility) : 'private';
  if (!(await upsertDataset(sql, target, document, accessibility, token))) return false;
  await upsertInstall(sql, target, document, accessibility);
  await replaceRows(sql, target, document);
  return true;
}

async function upsertDataset(
  sql: Sql,
  { schema }: ControlTarget,
  { owner, dataset, metadata, category }: ControlDocument,
  accessibility: StoredVisibility,
  token: number,
): Promise<boolean> {
  const created = new Date(metadata.created);
  const rows = await sql.query(
    `insert into ${schema}.dataset as d (dataset_id, owner, type_name, type_version, category, deleted_status,
       accessibility, days_for_approval, creation_date, lease_token)
     values ($1, $2::numeric, $3, $4, $5, 0, $6, $7, coalesce($8::timestamptz, now()), $9)
     on conflict (dataset_id) do update set owner = excluded.owner, type_name = excluded.type_name,
       type_version = excluded.type_version, category = excluded.category,
       days_for_approval = excluded.days_for_approval,
       creation_date = coalesce($8::timestamptz, d.creation_date), lease_token = excluded.lease_token
     where d.lease_token <= excluded.lease_token
     returning dataset_id`,
    [
      dataset,
      owner,
      storableText(metadata.type.name),
      storableText(metadata.type.version),
      category,
      accessibility,
      metadata.daysForApproval,
      Number.isNaN(created.getTime()) ? null : created,
      token,
    ],
  );
  return rows.length > 0;
}

async function upsertInstall(
  sql: Sql,
  { id, displayName, schema }: ControlTarget,
  { owner, dataset }: ControlDocument,
  accessibility: StoredVisibility,
): Promise<void> {
  await sql.query(
    `with installed as (
       insert into ${schema}.dataset_install (dataset_id, target_id, accessibility) values ($1, $2, $3)
       on conflict (dataset_id, target_id) do update set accessibility = excluded.accessibility),
     project as (
       insert into ${schema}.dataset_project (dataset_id, project_id, project_display_name) values ($1, $2, $4)
       on conflict (dataset_id, project_id) do update set project_display_name = excluded.project_display_name)
     insert into ${schema}.dataset_visibility (user_id, dataset_id) values ($5::numeric, $1) on conflict do nothing`,
    [dataset, id, accessibility, displayName, owner],
  );
}

/** Removal and insertion are two statements, since one cannot put a row where it removes one. */
async function replaceRows(sql: Sql, { schema }: ControlTarget, { dataset, metadata }: ControlDocument): Promise<void> {
  const tables = controlRows(metadata);
  const removals = tables.map(({ table }, n) => `r${n} as (delete from ${schema}.${table} where dataset_id = $1)`);
  await sql.query(`with ${removals.join(', ')} select`, [dataset]);
  const parameters = new SqlParameters();
  const id = parameters.add(dataset, 'text');
  const inserts = tables
    .filter(({ rows }) => rows.length > 0)
    .map(({ table, columns, rows }, n) => {
      const arrays = Object.values(columns).map((type, at) =>
        parameters.add(
          rows.map((row) => row[at]),
          type,
        ),
      );
      return `i${n} as (insert into ${schema}.${table} (dataset_id, ${Object.keys(columns).join(', ')})
        select ${id}, x.* from unnest(${arrays.join(', ')}) x)`;
    });
  await sql.query(`with ${inserts.join(',\n')} select`, parameters.values);
}
