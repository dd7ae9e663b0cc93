// A catalog in memory, with the leases it is told of.

import type { DatasetId, TargetId } from '../../engine/model/ids.ts';
import type { DatasetMetadata, FileEntry } from '../../engine/model/metadata.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import type { ImportStatus, InstallKind } from '../../engine/model/status.ts';
import type { Traceparent } from '../../engine/model/traceparent.ts';
import {
  type Catalog,
  type CatalogChange,
  type DatasetRecord,
  type InstallAttempt,
  type InstallRecord,
  importIsDue,
  type StoredShare,
} from '../../engine/ports/catalog.ts';
import type { DatasetFiles } from '../../engine/ports/dataset-queries.ts';
import type { JobRequest, Lease } from '../../engine/ports/jobs.ts';
import { aborted, defect } from '../../engine/runtime/failure.ts';

/** What is kept of a dataset; the import status is hidden until the upload succeeded. */
export interface FakeDataset extends Omit<DatasetRecord, 'import'> {
  readonly import: { readonly status: ImportStatus; readonly messages: readonly string[] };
  readonly files: Readonly<Partial<Record<'upload' | 'install' | 'document' | 'property', readonly FileEntry[]>>>;
  readonly archives?: NonNullable<DatasetFiles['archives']>;
  /** Undefined where nobody said it. */
  readonly kept?: readonly FileEntry[];
  /** In the order of recipients. */
  readonly shares: readonly StoredShare[];
}

export class FakeCatalog implements Catalog {
  readonly datasets = new Map<DatasetId, FakeDataset>();
  /** Datasets that a fake of Uploads is receiving. */
  readonly receiving = new Set<DatasetId>();
  /** Of the request that changed the dataset last. */
  readonly traces = new Map<DatasetId, Traceparent>();
  /** The job table, for changes that make a job due. */
  onNext: (request: JobRequest) => void = () => {
    throw new Error('this catalog has no job table');
  };
  /** The uploads. */
  onUploadStored: (dataset: DatasetId) => void = () => {};
  /** For fakes whose rows go with the dataset's. */
  onRemoved: (dataset: DatasetId) => void = () => {};
  readonly #attempts = new Map<DatasetId, Map<string, InstallAttempt>>();
  readonly #holds: (lease: Lease) => boolean;

  constructor(holds: (lease: Lease) => boolean) {
    this.#holds = holds;
  }

  find: Catalog['find'] = async (dataset, signal) => {
    signal.throwIfAborted();
    const known = this.datasets.get(dataset);
    if (!known) return undefined;
    const { files: _files, archives: _archives, shares: _shares, kept: _kept, ...record } = known;
    return { ...record, import: known.upload.status === 'success' ? known.import : undefined };
  };

  findWithAttempts: Catalog['findWithAttempts'] = async (dataset, signal) => {
    const record = await this.find(dataset, signal);
    return record && { ...record, attempts: await this.attempts(dataset, signal) };
  };

  beginImport: Catalog['beginImport'] = async (dataset, lease, signal) => {
    this.#fence(dataset, lease, signal);
    const before = await this.findWithAttempts(dataset, signal);
    if (before && importIsDue(before)) this.apply(dataset, [{ set: 'import', status: 'in-progress', messages: [] }]);
    return before;
  };

  isReceiving: Catalog['isReceiving'] = async (dataset, signal) => {
    signal.throwIfAborted();
    return this.receiving.has(dataset);
  };

  register: Catalog['register'] = async (at, metadata, changes, lease, signal) => {
    this.#fence(at.dataset, lease, signal);
    if (this.datasets.has(at.dataset) || this.receiving.has(at.dataset)) return;
    this.datasets.set(at.dataset, changes.reduce(changed, newDataset(at, metadata)));
  };

  write: Catalog['write'] = async (dataset, lease, changes, signal) => {
    if (changes.length === 0) return;
    this.#fence(dataset, lease, signal);
    let known = this.datasets.get(dataset);
    if (!known) throw defect(`dataset ${dataset} is not in the catalog`);
    for (const change of changes) {
      known = changed(known, change);
      this.#attempt(dataset, change);
    }
    this.datasets.set(dataset, known);
    for (const change of changes) {
      if (change.set === 'uploadStored') this.onUploadStored(dataset);
      if (change.set !== 'next') continue;
      const { lane, eventId, source } = change;
      this.onNext({ lane, dataset, owner: known.owner, eventId, source });
    }
  };

  #attempt(dataset: DatasetId, change: CatalogChange): void {
    if (change.set !== 'attempt' && change.set !== 'attemptOver') return;
    const attempts = this.#attempts.get(dataset) ?? new Map<string, InstallAttempt>();
    this.#attempts.set(dataset, attempts);
    if (change.set === 'attemptOver') attempts.delete(installKey(change));
    else {
      const { set: _set, ...attempt } = change;
      attempts.set(installKey(change), attempt);
    }
  }

  /** Changes without a lease, as an edit of the owner makes them. */
  apply(dataset: DatasetId, changes: readonly CatalogChange[]): void {
    const known = this.datasets.get(dataset);
    if (known) this.datasets.set(dataset, changes.reduce(changed, known));
  }

  attempts: Catalog['attempts'] = async (dataset, signal) => {
    signal.throwIfAborted();
    const attempts = [...(this.#attempts.get(dataset) ?? [])];
    return attempts.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, attempt]) => attempt);
  };

  remove: Catalog['remove'] = async (dataset, lease, signal) => {
    this.#fence(dataset, lease, signal);
    this.datasets.delete(dataset);
    this.#attempts.delete(dataset);
    this.onRemoved(dataset);
  };

  /** All attempts of the kind are due, with all their attempts before them. */
  makeDue(dataset: DatasetId, kind: InstallKind): void {
    const attempts = this.#attempts.get(dataset);
    for (const [key, attempt] of attempts ?? [])
      if (attempt.kind === kind) attempts?.set(key, { ...attempt, attempts: 0, notBefore: undefined });
  }

  #fence(dataset: DatasetId, lease: Lease, signal: AbortSignal): void {
    signal.throwIfAborted();
    if (lease.name !== dataset || !this.#holds(lease)) throw aborted(`dataset ${dataset}: lease lost`);
  }
}

/** As it is registered: uploaded, not imported. */
export const newDataset = ({ owner, dataset }: DatasetAddress, metadata: DatasetMetadata): FakeDataset => ({
  ...{ owner, dataset, state: 'live', metadata, installs: [], sync: {}, files: {}, shares: [] },
  upload: { status: 'success', message: undefined },
  import: { status: 'queued', messages: [] },
});

const FOLDERS = {
  uploadFiles: 'upload',
  installFiles: 'install',
  documentFiles: 'document',
  propertyFiles: 'property',
} as const;

function changed(known: FakeDataset, change: CatalogChange): FakeDataset {
  switch (change.set) {
    case 'upload':
      return { ...known, upload: { status: change.status, message: change.message } };
    case 'import':
      return { ...known, import: { status: change.status, messages: change.messages } };
    case 'uploadFiles':
    case 'installFiles':
    case 'documentFiles':
    case 'propertyFiles':
      return { ...known, files: { ...known.files, ...newFiles(FOLDERS[change.set], change.files, known) } };
    case 'archive':
      return { ...known, archives: { ...known.archives, [change.object]: change.digest } };
    case 'kept':
      return { ...known, kept: change.objects };
    case 'shares':
      return {
        ...known,
        shares: lastOf(change.shares, ({ recipient }) => recipient).sort((a, b) =>
          BigInt(a.recipient) < BigInt(b.recipient) ? -1 : 1,
        ),
      };
    case 'metadata':
      return { ...known, metadata: change.metadata };
    case 'install': {
      const { set: _set, ...record } = change;
      return { ...known, installs: withInstall(known.installs, record) };
    }
    case 'attempt':
    case 'attemptOver':
    case 'next':
    case 'uploadStored':
    case 'settled':
      // Kept beside the dataset.
      return known;
    case 'sync':
      return { ...known, sync: { ...known.sync, [change.part]: change.version } };
    case 'state':
      return change.from === undefined || change.from === known.state ? { ...known, state: change.state } : known;
    case 'trimmed': {
      const { data: _data, ...sync } = known.sync;
      const { 'install-ready.zip': _archive, ...archives } = known.archives ?? {};
      return { ...known, sync, archives, installs: [] };
    }
    default:
      throw change satisfies never;
  }
}

/** The digest of an object that did not change stays, if the change has none. */
function newFiles(
  folder: 'upload' | 'install' | 'document' | 'property',
  files: readonly FileEntry[],
  known: FakeDataset,
) {
  const before = new Map((known.files[folder] ?? []).map((file) => [file.name, file]));
  const merged = files.map((file): FileEntry => {
    const same =
      file.etag !== undefined && before.get(file.name)?.etag === file.etag ? before.get(file.name) : undefined;
    const sha256 = file.sha256 ?? same?.sha256;
    return { ...file, ...(sha256 === undefined ? {} : { sha256 }) };
  });
  return { [folder]: lastOf(merged, ({ name }) => name) };
}

function withInstall(installs: readonly InstallRecord[], record: InstallRecord): readonly InstallRecord[] {
  const others = installs.filter((other) => installKey(other) !== installKey(record));
  return [...others, record].sort((a, b) => (installKey(a) < installKey(b) ? -1 : 1));
}

/** Of items with one key the last. */
const lastOf = <Item>(items: readonly Item[], key: (item: Item) => string): Item[] => [
  ...new Map(items.map((item) => [key(item), item])).values(),
];

const installKey = (of: { readonly target: TargetId; readonly kind: InstallKind }): string => `${of.target} ${of.kind}`;
