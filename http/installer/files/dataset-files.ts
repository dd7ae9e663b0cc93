// A dataset's files: names and sizes from the cache, sizes of its two archives from the object store.

import type { ApiVersion } from '../../../engine/model/api-version.ts';
import { objectKey } from '../../../engine/model/object-key.ts';
import type { DatasetQueries, ViewedDataset } from '../../../engine/ports/dataset-queries.ts';
import type { ObjectStore } from '../../../engine/ports/object-store.ts';
import type { FileListing, OldFileListing } from '../schema/file-listing.ts';
import { fileListing } from '../views/file-listing.ts';

export interface FileSources {
  readonly queries: Pick<DatasetQueries, 'files'>;
  readonly store: Pick<ObjectStore, 'head'>;
}

export async function listFiles(
  sources: FileSources,
  dataset: ViewedDataset,
  version: ApiVersion,
  signal: AbortSignal,
): Promise<FileListing | OldFileListing> {
  const { queries, store } = sources;
  const [files, upload, install] = await Promise.all([
    queries.files(dataset.dataset, signal),
    store.head(objectKey(dataset, 'import-ready.zip'), signal),
    store.head(objectKey(dataset, 'install-ready.zip'), signal),
  ]);
  return fileListing(files, dataset.import?.status, { upload: upload?.size, install: install?.size }, version);
}
