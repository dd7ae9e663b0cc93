// A side of M18: the obvious way. The whole listing by MinIO's client goes into a map, the whole table comes by one query.

import { Client } from 'minio';
import pg from 'pg';
import type { ReconcileOrder } from './m18-reconcile.ts';
import { ROWS } from './rows-statement.ts';
import { tellOf } from './side-process.ts';

interface Row {
  readonly dataset_id: string;
  readonly owner_id: string;
  readonly meta_etag: string | null;
  readonly meta_modified_ms: string | null;
}

void tellOf(async ({ database, port }: ReconcileOrder) => {
  const client = new Client({
    ...{ endPoint: '127.0.0.1', port, useSSL: false, region: 'eu' },
    ...{ accessKey: 'bench-access', secretKey: 'bench-secret' },
  });
  const stored = new Map<string, { readonly etag: string; readonly modified: number }>();
  for await (const { name, etag, lastModified } of client.listObjectsV2('bucket', '', true))
    stored.set(name, { etag, modified: lastModified.getTime() });
  const listed = stored.size;
  const { host, user, password, database: name, port: itsPort } = database;
  const db = new pg.Client({ host, port: itsPort, user, password, database: name });
  await db.connect();
  const { rows } = await db.query<Row>(ROWS);
  await db.end();
  let absent = 0;
  const changed: string[] = [];
  for (const { owner_id, dataset_id, meta_etag, meta_modified_ms } of rows) {
    const key = `${owner_id}/${dataset_id}/vdi-meta.json`;
    const object = stored.get(key);
    stored.delete(key);
    if (!object) absent++;
    else if (object.etag !== meta_etag || object.modified !== Number(meta_modified_ms)) changed.push(dataset_id);
  }
  for (const key of stored.keys()) changed.push(key.split('/')[1] as string);
  return { listed, changed, absent };
});
