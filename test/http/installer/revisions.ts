// Revision requests, and what is left of them in the store and in the cache.

import type { Postgres } from '../../../engine/adapters/postgres/postgres.ts';
import { type DatasetMetadata, parseMetadata } from '../../../engine/model/metadata.ts';
import { datasetPrefix, objectKey } from '../../../engine/model/object-key.ts';
import { type App, FILE, type FormPart, form } from './installer-app.ts';
import type { Added } from './stored-datasets.ts';

/** What every revision says of itself. */
export const NOTE = { origin: 'a tool', revisionNote: 'Better genes than before' };
export const revisionPart = (more: object = {}): FormPart => ['details', JSON.stringify({ ...NOTE, ...more })];

export const putRevision = (
  app: App,
  user: string | undefined,
  dataset: string,
  parts: readonly FormPart[],
  headers: Record<string, string> = {},
) => app.call(user, 'PUT', `/datasets/${dataset}`, { body: form(...parts), headers });

/** The owner's, with one file. */
export const revise = (app: App, at: Added, more: object = {}) =>
  putRevision(app, at.owner, at.dataset, [revisionPart(more), FILE]);

export const messageOf = ({ status, body }: { readonly status: number | undefined; readonly body: unknown }) => [
  status,
  (body as { message?: string }).message,
];

export async function setColumns(
  db: Postgres,
  dataset: string,
  columns: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [column, text] of Object.entries(columns))
    await db.query(`update dataset set ${column} = $2 where dataset_id = $1`, [dataset, text]);
}

export async function setInstall(db: Postgres, dataset: string, target: string, status: string): Promise<void> {
  await db.query(
    `insert into install_status (dataset_id, target_id, kind, status, messages) values ($1, $2, 'data', $3, '{}')
     on conflict (dataset_id, target_id, kind) do update set status = excluded.status`,
    [dataset, target, status],
  );
}

export function storedMetadata(app: App, at: Added): DatasetMetadata {
  const key = objectKey(at, 'vdi-meta.json');
  return parseMetadata(app.store.text(key) ?? '', key);
}

/** Keys of the dataset's objects, and how many rows speak of it. */
export async function leftOf(app: App, db: Postgres, at: Added) {
  const prefix = datasetPrefix(at);
  const [rows] = await db.query<{ datasets: number; uploads: number }>(
    `select (select count(*) from dataset where dataset_id = $1) as datasets,
      (select count(*) from upload where dataset_id = $1) as uploads`,
    [at.dataset],
  );
  const keys = app.store.keys().flatMap((key) => (key.startsWith(prefix) ? key.slice(prefix.length) : []));
  return { ...rows, keys };
}
export const NOTHING_LEFT = { datasets: 0, uploads: 0, keys: [] };
