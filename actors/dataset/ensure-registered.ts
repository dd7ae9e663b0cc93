// Creates a dataset's cache row from the object store when the cache does not know the dataset: the store is authoritative
// about which datasets exist (docs/design/decisions.md#truth). Shares and the targets' states are not read here. The row
// records them as unknown, so that sharing, the install lanes and reconciliation look them up.

import { objectKey } from '../../engine/model/object-key.ts';
import type { Catalog, DatasetRecord } from '../../engine/ports/catalog.ts';
import type { ClaimedJob } from '../../engine/ports/jobs.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import { registration } from '../reconciliation/reconcile-registration.ts';
import { readLeavings } from '../reconciliation/reconcile-snapshot.ts';
import { keptObjects, storedDataset } from './stored-dataset.ts';
import { readMetadata } from './stored-documents.ts';

/**
 * Undefined when there is nothing to register: no metadata, or no import-ready.zip yet. Without import-ready.zip an upload is
 * still in progress; it writes its own rows when it is accepted, and must not appear earlier. A deleted or superseded dataset
 * is left to reconciliation, which registers it in that state.
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
  const stored = await storedDataset(store, at, signal);
  const metadata = stored && (await readMetadata(store, at, signal));
  if (!metadata) return undefined;
  const changes = registration({
    ...(await readLeavings(store, at, signal)),
    stored: { ...stored, shares: [] },
    metaVersion: metadata.version,
    shares: [],
    targets: [],
    hasDisabledTarget: false,
  });
  const objects = keptObjects(stored);
  const all = objects ? [...changes, { set: 'kept', objects } as const] : changes;
  await catalog.register(at, metadata.document, all, job.lease, signal);
  return catalog.find(job.dataset, signal);
}
