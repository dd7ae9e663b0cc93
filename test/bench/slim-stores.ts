// What the slim runs of P10 go through: many datasets that have been imported, four objects each, in a store and in the cache,
// which reflects every one of them.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Postgres } from '../../engine/adapters/postgres/postgres.ts';
import type { ObjectInfo, ObjectStore } from '../../engine/ports/object-store.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import type { MillionDatasets } from './million-datasets.ts';
import { datasetOf, IMPORTED, metadataOf, ownerOf } from './million-objects.ts';
import { openStore, type StoreAt } from './store-at.ts';

const PUTS_AT_ONCE = 32;
/** Datasets of one statement. */
const BATCH = 10_000;
const never = new AbortController().signal;
const META = 'vdi-meta.json';
const DATA = 'install-ready.zip';

/** Only metadata are ever read, so the other objects are empty. */
const contentOf = (n: number, name: string): Buffer => Buffer.from(name === META ? metadataOf(n) : '');
const folderOf = (n: number): string => `${ownerOf(n)}/${datasetOf(n)}`;

/** Fills the store, which is empty, and the cache. */
export async function fillBoth(at: StoreAt, datasets: MillionDatasets, count: number): Promise<void> {
  const store = await openStore(at);
  if ('path' in at) fillDirectory(at.path, count);
  else await fillBucket(store, count);
  await datasets.fill(count);
  await using db = new Postgres(datasets.options, silentLogger());
  await noteVersions(store, db);
  await db.query('vacuum (analyze) dataset');
}

/** Writes the metadata of some datasets again, which the cache is not told. */
export async function change(at: StoreAt, numbers: readonly number[]): Promise<void> {
  const store = await openStore(at);
  for (const n of numbers) await store.put(`${folderOf(n)}/${META}`, contentOf(n, META), {}, never);
}

/** Without the store, which syncs every file. */
function fillDirectory(path: string, count: number): void {
  for (let n = 0; n < count; n++) {
    const folder = join(path, 'objects', folderOf(n));
    mkdirSync(folder, { recursive: true });
    for (const name of IMPORTED) writeFileSync(join(folder, name), contentOf(n, name));
  }
}

async function fillBucket(store: ObjectStore, count: number): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      const n = next++;
      for (const name of IMPORTED) await store.put(`${folderOf(n)}/${name}`, contentOf(n, name), {}, never);
    }
  };
  await Promise.all(Array.from({ length: PUTS_AT_ONCE }, worker));
}

/** The cache reflects what the store has. */
async function noteVersions(store: ObjectStore, db: Postgres): Promise<void> {
  let metas: ObjectInfo[] = [];
  let data: ObjectInfo[] = [];
  const flush = async (): Promise<void> => {
    const columns = [metas, data].flatMap((infos) => [
      infos.map(({ etag }) => etag),
      infos.map(({ modified }) => modified.getTime()),
    ]);
    await db.query(NOTE, [metas.map(({ key }) => key.split('/')[1]), ...columns]);
    [metas, data] = [[], []];
  };
  for await (const page of store.pages('', {}, never)) {
    for (const info of page) {
      if (info.key.endsWith(DATA)) data.push(info);
      // The last object of a dataset.
      else if (info.key.endsWith(META)) metas.push(info);
    }
    if (metas.length >= BATCH && metas.length === data.length) await flush();
  }
  await flush();
}

const NOTE = `
  update dataset d set import_status = 'complete', meta_etag = v.meta_etag, meta_modified_ms = v.meta_ms,
    data_etag = v.data_etag, data_modified_ms = v.data_ms
  from unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[])
    v (dataset_id, meta_etag, meta_ms, data_etag, data_ms)
  where d.dataset_id = v.dataset_id`;
