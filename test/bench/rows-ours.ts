// A side of M16: the cache's datasets as the reconciler reads them, page by page in the order of the store's keys.

import { PAGE, pagesOf } from '../../actors/reconciler/merge-cursors.ts';
import { PostgresDatasetIndex } from '../../engine/adapters/catalog/dataset-index-postgres.ts';
import { Postgres, type PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { RowsSeen } from './rows-seen.ts';
import { tellOf } from './side-process.ts';

void tellOf(async (options: PostgresOptions) => {
  const db = new Postgres(options, silentLogger());
  const seen = new RowsSeen();
  for await (const page of pagesOf(new PostgresDatasetIndex(db), PAGE, new AbortController().signal))
    for (const { owner, dataset, sync } of page) seen.add(owner, dataset, sync.meta?.etag, sync.meta?.modified);
  await db[Symbol.asyncDispose]();
  return seen.all;
});
