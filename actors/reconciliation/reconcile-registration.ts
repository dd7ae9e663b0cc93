// How a dataset that the cache does not know enters the cache when it is rebuilt: from what the store and the targets know.
// Also what the objects say about the import, which applies to a dataset that the cache knows too. Pure.

import type { ArchiveObject } from '../../engine/model/digest.ts';
import type { FileEntry, Manifest } from '../../engine/model/metadata.ts';
import { objectKey } from '../../engine/model/object-key.ts';
import { type DatasetState, type ImportStatus, INSTALL_KINDS } from '../../engine/model/status.ts';
import type { Catalog, CatalogChange, DatasetRecord, DatasetWithAttempts } from '../../engine/ports/catalog.ts';
import type { ClaimedJob } from '../../engine/ports/jobs.ts';
import type { ObjectInfo, ObjectStore } from '../../engine/ports/object-store.ts';
import { isUninstalled, sharesVersion, versionOf } from '../dataset/dataset-versions.ts';
import { fileName } from '../dataset/site-targets.ts';
import { keptObjects, storedDataset } from '../dataset/stored-dataset.ts';
import { archiveChange, readMetadata } from '../dataset/stored-documents.ts';
import { readLeavings, type Snapshot } from './reconcile-snapshot.ts';
import { mirrorOf } from './reconcile-targets.ts';

/** What an owner reads about an upload of which nothing is left, such as one by URL that was not downloaded yet. */
export const LOST_UPLOAD = {
  status: 'failed',
  message: 'the uploaded files are missing from the object store; please upload them again',
} as const;

export const LOST_IMPORT = {
  status: 'failed',
  messages: ['import-ready.zip is missing from the object store, so the dataset cannot be imported'],
} as const;

interface ImportFacts {
  /** `settled`: there is nothing to import, or a person must decide. */
  readonly need: 'needed' | 'settled' | 'impossible';
  /** Everything that a complete import produces exists. */
  readonly ready: boolean;
}

/** An import that failed without a message runs again, to find out why. */
export function importFacts(
  { stored, manifest }: Pick<Snapshot, 'stored' | 'manifest'>,
  known: DatasetRecord['import'],
): ImportFacts {
  const { objects } = stored;
  const ready = objects['install-ready.zip'] !== undefined && manifest !== undefined;
  if (!objects['import-ready.zip'] || known?.status === 'invalid') return { need: 'impossible', ready };
  if (known?.status === 'failed') return { need: known.messages.length > 0 ? 'settled' : 'needed', ready };
  return { need: ready ? 'settled' : 'needed', ready };
}

/** The input of a registration. */
type Registrable = Pick<
  Snapshot,
  'stored' | 'manifest' | 'uploadError' | 'metaVersion' | 'shares' | 'targets' | 'hasDisabledTarget'
>;

/** All changes of a registration: state and statuses, files, shares, versions, and the mirror of the targets. */
export function registration(snapshot: Registrable): readonly CatalogChange[] {
  const { stored, manifest, metaVersion, shares, targets } = snapshot;
  const { objects } = stored;
  const upload = uploadOf(snapshot);
  const imported = upload.status === 'success' ? importOf(snapshot) : undefined;
  const data = imported?.status === 'complete' ? objects['install-ready.zip'] : undefined;
  const listed: Manifest = typeof manifest === 'object' ? manifest : { rawUploads: [], installReady: [] };
  const archive = (object: ArchiveObject) => archiveChange(stored, object, listed.archives, Object.values(objects));
  return [
    { set: 'state', state: stateOf(snapshot) },
    { set: 'upload', ...upload },
    ...(imported ? [{ set: 'import', ...imported } as const] : []),
    ...(upload.status === 'success'
      ? [{ set: 'uploadFiles', files: listed.rawUploads } as const, ...archive('import-ready.zip')]
      : []),
    ...(data ? [{ set: 'installFiles', files: listed.installReady } as const, ...archive('install-ready.zip')] : []),
    { set: 'documentFiles', files: fileEntries(stored.documents) },
    { set: 'propertyFiles', files: fileEntries(stored.properties) },
    { set: 'shares', shares },
    { set: 'sync', part: 'meta', version: metaVersion },
    ...(data ? [{ set: 'sync', part: 'data', version: versionOf(data) } as const] : []),
    ...(stored.shares.length > 0
      ? [{ set: 'sync', part: 'shares', version: sharesVersion(stored.shares) } as const]
      : []),
    ...targets.flatMap(({ id, state }) =>
      state ? INSTALL_KINDS.flatMap((kind) => mirrorOf(id, kind, state) ?? []) : [],
    ),
  ];
}

/** The record that the registration creates. */
export function recordOf(snapshot: Snapshot, changes: readonly CatalogChange[]): DatasetRecord {
  const { owner, dataset, metadata } = snapshot;
  const of = <Set extends CatalogChange['set']>(set: Set) =>
    changes.filter((change): change is Extract<CatalogChange, { readonly set: Set }> => change.set === set);
  const [upload] = of('upload');
  const [state] = of('state');
  const [imported] = of('import');
  return {
    owner,
    dataset,
    metadata,
    state: state?.state ?? 'live',
    upload: { status: upload?.status ?? 'success', message: upload?.message },
    import: imported && { status: imported.status, messages: imported.messages },
    installs: of('install').map(({ set: _set, ...install }) => install),
    sync: Object.fromEntries(of('sync').map(({ part, version }) => [part, version])),
  };
}

/** A dataset that is uninstalled everywhere is `deleted` at once; otherwise the softDelete lane sets that state later. */
function stateOf({ stored: { objects }, targets, hasDisabledTarget }: Registrable): DatasetState {
  const uninstalled = !hasDisabledTarget && targets.every(({ state }) => state !== undefined && isUninstalled(state));
  if (objects['delete-flag']) return uninstalled ? 'deleted' : 'deleting';
  return objects['revised-flag'] ? 'superseded' : 'live';
}

function uploadOf({ stored: { objects }, uploadError }: Registrable) {
  if (objects['import-ready.zip'] || objects['install-ready.zip']) return { status: 'success' } as const;
  return uploadError ?? LOST_UPLOAD;
}

function importOf(snapshot: Registrable): { readonly status: ImportStatus; readonly messages: readonly string[] } {
  const { objects } = snapshot.stored;
  const { need, ready } = importFacts(snapshot, undefined);
  if (need === 'impossible') return ready ? { status: 'complete', messages: [] } : LOST_IMPORT;
  if (need === 'settled') return { status: 'complete', messages: [] };
  // A trimmed superseded revision has no install-ready.zip any more; its manifest shows that it had one.
  const { manifest } = snapshot;
  const trimmed = objects['revised-flag'] && typeof manifest === 'object' && manifest.installReady.length > 0;
  return { status: trimmed ? 'complete' : 'queued', messages: [] };
}

/** Names, sizes and versions of the files of one folder. */
export const fileEntries = (objects: readonly ObjectInfo[]): readonly FileEntry[] =>
  objects.map(({ key, size, etag }) => ({ name: fileName(key), size, etag }));

// Creates a dataset's cache row from the object store when the cache does not know the dataset: the store is authoritative
// about which datasets exist (docs/design/decisions.md#truth). Shares and the targets' states are not read here. The row
// records them as unknown, so that sharing, the install lanes and reconciliation look them up.

/**
 * Undefined when there is nothing to register: no metadata, no import-ready.zip, or an upload in progress. That writes its own
 * rows when it is accepted, and must not appear earlier. A deleted or superseded dataset
 * is left to reconciliation, which registers it in that state.
 * @param find how the record is read
 */
export async function ensureRegistered(
  catalog: Catalog,
  store: ObjectStore,
  job: ClaimedJob,
  signal: AbortSignal,
  find: () => Promise<DatasetWithAttempts | undefined> = () => catalog.findWithAttempts(job.dataset, signal),
): Promise<DatasetWithAttempts | undefined> {
  const known = await find();
  if (known) return known;
  if (await catalog.isReceiving(job.dataset, signal)) return undefined;
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
  return find();
}
