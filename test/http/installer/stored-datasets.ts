// Datasets in the cache and the store, as an upload and an import leave them.

import type { Postgres } from '../../../engine/adapters/postgres/postgres.ts';
import type { DatasetId, UserId } from '../../../engine/model/ids.ts';
import { type DatasetMetadata, serializeMetadata } from '../../../engine/model/metadata.ts';
import { objectKey } from '../../../engine/model/object-key.ts';
import { metadataOf, newDataset, newUser } from '../../support/dataset-samples.ts';
import { type App, type AppOptions, installerApp, type Teardown } from './installer-app.ts';

const signal = new AbortController().signal;

export interface Added {
  readonly owner: UserId;
  readonly dataset: DatasetId;
}

/** A dataset that was accepted; then imported, when `columns` say so. */
export async function add(
  app: App,
  db: Postgres,
  owner: UserId,
  metadata: Partial<DatasetMetadata> = {},
  columns: Readonly<Record<string, string>> = {},
  dataset = newDataset(),
): Promise<Added> {
  const at = { owner, dataset };
  await app.uploads.begin(at, 0, { bytes: 1e9 }, signal);
  const stored = metadataOf(owner, metadata);
  const key = objectKey(at, 'vdi-meta.json');
  const { modified, etag } = await app.store.put(key, Buffer.from(serializeMetadata(stored)), {}, signal);
  await app.uploads.accept(
    {
      ...at,
      metadata: stored,
      metaVersion: { modified, etag },
      source: { kind: 'files', files: [] },
      documents: [{ name: 'notes.pdf', size: 5 }],
      properties: [{ name: 'p.tsv', size: 6 }],
      eventId: 1,
    },
    signal,
  );
  for (const [column, value] of Object.entries(columns))
    await db.query(`update dataset set ${column} = $2 where dataset_id = $1`, [dataset, value]);
  return at;
}

export const IMPORTED = { upload_status: 'success', import_status: 'complete' };

/** What the import left behind. */
export async function imported(
  app: App,
  db: Postgres,
  owner: UserId,
  metadata: Partial<DatasetMetadata> = {},
): Promise<Added> {
  const at = await add(app, db, owner, metadata, IMPORTED);
  await db.query(
    `insert into dataset_file (dataset_id, folder, name, size)
     values ($1, 'upload', 'a/genes.txt', 7), ($1, 'install', 'genes.txt', 8)`,
    [at.dataset],
  );
  await db.query('update dataset set upload_file_count = 1, upload_file_bytes = 7 where dataset_id = $1', [at.dataset]);
  await app.store.put(objectKey(at, 'import-ready.zip'), Buffer.from('the upload'), {}, signal);
  await app.store.put(objectKey(at, 'install-ready.zip'), Buffer.from('the install files'), {}, signal);
  return at;
}

/** A service with one such dataset of a new user. */
export async function owned(
  t: Teardown,
  db: Postgres,
  metadata: Partial<DatasetMetadata> = {},
  options: AppOptions = {},
): Promise<{ readonly app: App; readonly owner: UserId; readonly at: Added }> {
  const app = await installerApp(t, db, options);
  const owner = newUser();
  return { app, owner, at: await imported(app, db, owner, metadata) };
}

export async function share(
  db: Postgres,
  at: Added,
  recipient: UserId,
  offer: string,
  receipt: string | null,
): Promise<void> {
  await db.query(
    `insert into dataset_share (dataset_id, recipient_id, offer, receipt) values ($1, $2::numeric, $3, $4)
     on conflict (dataset_id, recipient_id) do update set offer = excluded.offer, receipt = excluded.receipt`,
    [at.dataset, recipient, offer, receipt],
  );
}
