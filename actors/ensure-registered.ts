// The cache row of a dataset, made from the object store when the cache does not know the dataset: the store is the
// truth about which datasets exist (design, Truth).

import { objectKey } from '../engine/model/object-key.ts';
import type { Catalog, DatasetRecord } from '../engine/ports/catalog.ts';
import type { ClaimedJob } from '../engine/ports/jobs.ts';
import type { ObjectStore } from '../engine/ports/object-store.ts';
import { readMetadata } from './stored-documents.ts';

/**
 * Undefined when there is nothing to register: no metadata, or no import-ready.zip yet. The latter belongs to an
 * upload under way, which writes its own rows when it is accepted and must not appear before. A deleted or superseded
 * dataset is left to reconciliation, which knows how to register it as what it is.
 */
export async function ensureRegistered(
  catalog: Catalog,
  store: ObjectStore,
  job: ClaimedJob,
  signal: AbortSignal,
): Promise<DatasetRecord | undefined> {
  const known = await catalog.find(job.dataset, signal);
  if (known) return known;
  const at = { owner: job.owner, dataset: job.dataset };
  if (!(await store.head(objectKey(at, 'import-ready.zip'), signal))) return undefined;
  for (const flag of ['delete-flag', 'revised-flag'] as const)
    if (await store.head(objectKey(at, flag), signal)) return undefined;
  const metadata = await readMetadata(store, at, signal);
  if (!metadata) return undefined;
  await catalog.register(at, metadata.document, [], job.lease, signal);
  return catalog.find(job.dataset, signal);
}
