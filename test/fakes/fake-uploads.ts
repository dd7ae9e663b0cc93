// Uploads in memory, beside a fake catalog.

import { type DatasetId, rootOf, type UserId } from '../../engine/model/ids.ts';
import type { FileEntry } from '../../engine/model/metadata.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import type { JobRequest, Lease } from '../../engine/ports/jobs.ts';
import type { UploadSource, Uploads } from '../../engine/ports/uploads.ts';
import { aborted, rejected, transient } from '../../engine/runtime/failure.ts';
import { type FakeCatalog, newDataset } from './fake-catalog.ts';

export interface FakeUploadsOptions {
  readonly holds: (lease: Lease) => boolean;
  readonly enqueueJobs: (requests: readonly JobRequest[]) => Promise<void>;
}

interface FakeUpload extends DatasetAddress {
  readonly state: 'receiving' | 'accepted' | 'stored';
  /** Reserved while receiving, raw bytes afterwards. */
  readonly bytes: number;
  readonly source: UploadSource | undefined;
  /** Cannot be accepted any more. */
  readonly givenUp?: boolean;
}

export class FakeUploads implements Uploads {
  /** False: the process that received is dead. */
  alive = true;
  /** Whether the process that receives this one lives; by default that of all. */
  receives: (dataset: DatasetId) => boolean = () => this.alive;
  readonly #catalog: FakeCatalog;
  readonly #options: FakeUploadsOptions;
  readonly #uploads = new Map<DatasetId, FakeUpload>();
  readonly #undecided = new Set<DatasetId>();

  constructor(catalog: FakeCatalog, options: FakeUploadsOptions) {
    this.#catalog = catalog;
    this.#options = options;
    catalog.onUploadStored = (dataset) => {
      const upload = this.#uploads.get(dataset);
      if (upload && upload.state !== 'receiving')
        this.#put({ ...upload, state: 'stored', bytes: 0, source: undefined });
    };
    catalog.onRemoved = (dataset) => {
      if (this.#uploads.get(dataset)?.state !== 'receiving') this.#uploads.delete(dataset);
    };
  }

  begin: Uploads['begin'] = async (at, bytes, bounds, signal) => {
    signal.throwIfAborted();
    const { owner, dataset } = at;
    if (bounds.jobs !== undefined && this.#waiting(owner) >= bounds.jobs) return 'too many jobs';
    if (this.#used(owner) + bytes > bounds.bytes) return 'over quota';
    const family = [...this.#uploads.values()].filter((one) => rootOf(one.dataset) === rootOf(dataset));
    const receiving = family.some((one) => one.state === 'receiving' && one.owner === owner);
    if (receiving || this.#uploads.has(dataset) || this.#catalog.datasets.has(dataset))
      throw rejected(`dataset ${dataset} exists or is being uploaded already`);
    this.#put({ owner, dataset, state: 'receiving', bytes, source: undefined });
    return 'begun';
  };

  grow: Uploads['grow'] = async (dataset, bytes, limitBytes, signal) => {
    signal.throwIfAborted();
    const upload = this.#uploads.get(dataset);
    if (!upload || upload.state === 'stored') throw gone(dataset);
    if (bytes <= upload.bytes) return true;
    if (this.#used(upload.owner) - upload.bytes + bytes > limitBytes) return false;
    this.#put({ ...upload, bytes });
    return true;
  };

  accept: Uploads['accept'] = async (accepted, signal) => {
    signal.throwIfAborted();
    const { owner, dataset, metadata, metaVersion, source, packed, documents, properties, eventId } = accepted;
    const files = source.kind === 'files' ? source.files : [];
    const upload = this.#uploads.get(dataset);
    if (upload?.state !== 'receiving' || upload.givenUp) throw gone(dataset);
    if (accepted.traceparent !== undefined) this.#catalog.traces.set(dataset, accepted.traceparent);
    this.#catalog.datasets.set(dataset, {
      ...newDataset(upload, metadata),
      upload: { status: packed ? 'success' : 'running', message: undefined },
      sync: { meta: metaVersion },
      shares: accepted.shares ?? [],
      ...(packed ? { archives: { 'import-ready.zip': packed } } : {}),
      files: { document: documents, property: properties, ...(packed ? { upload: files } : {}) },
    });
    try {
      await this.#options.enqueueJobs([{ lane: packed ? 'import' : 'upload', dataset, owner, eventId, source: 'api' }]);
    } catch (error) {
      this.#catalog.datasets.delete(dataset);
      throw error;
    }
    if (packed) this.#put({ ...upload, state: 'stored', bytes: 0 });
    else
      this.#put({ ...upload, state: 'accepted', bytes: source.kind === 'files' ? sum(files) : upload.bytes, source });
  };

  resume: Uploads['resume'] = async (upload, isWhole, signal) => {
    signal.throwIfAborted();
    const { owner, dataset } = upload;
    const isKnown = (): boolean => this.#uploads.has(dataset) || this.#catalog.datasets.has(dataset);
    // The real one holds the row meanwhile; here nobody else can begin what is known to no client any more.
    if (isKnown() || !(await isWhole()) || isKnown()) return false;
    signal.throwIfAborted();
    this.#put({ owner, dataset, state: 'receiving', bytes: 0, source: undefined });
    await this.accept(upload, signal);
    return true;
  };

  giveUp: Uploads['giveUp'] = async (dataset, signal) => {
    if (signal.aborted) this.#undecided.add(dataset);
    signal.throwIfAborted();
    const upload = this.#uploads.get(dataset);
    if (upload?.state === 'receiving') this.#put({ ...upload, givenUp: true });
    return upload === undefined || upload.state === 'receiving';
  };

  abandon: Uploads['abandon'] = async (dataset, signal) => {
    signal.throwIfAborted();
    if (this.#uploads.get(dataset)?.state !== 'receiving') return;
    this.#uploads.delete(dataset);
    this.#catalog.receiving.delete(dataset);
  };

  find: Uploads['find'] = async (dataset, signal) => {
    const record = await this.#catalog.find(dataset, signal);
    return record && { record, source: await this.source(dataset, signal) };
  };

  source: Uploads['source'] = async (dataset, signal) => {
    signal.throwIfAborted();
    return this.#uploads.get(dataset)?.source;
  };

  room: Uploads['room'] = async (dataset, limitBytes, signal) => {
    signal.throwIfAborted();
    const upload = this.#uploads.get(dataset);
    if (upload?.state !== 'accepted') return 0;
    return Math.max(limitBytes - this.#used(upload.owner) + upload.bytes, 0);
  };

  fetched: Uploads['fetched'] = async (dataset, lease, files, signal) => {
    signal.throwIfAborted();
    if (lease.name !== dataset || !this.#options.holds(lease)) throw aborted(`dataset ${dataset}: lease lost`);
    const upload = this.#uploads.get(dataset);
    const leftOut = upload?.source?.leftOut;
    const source = { kind: 'files', files, ...(leftOut ? { leftOut } : {}) } as const;
    if (upload?.state === 'accepted') this.#put({ ...upload, source });
  };

  orphans: Uploads['orphans'] = async (signal) => {
    signal.throwIfAborted();
    const receiving = [...this.#uploads.values()].filter(
      ({ state, givenUp, dataset }) =>
        state === 'receiving' && (givenUp || this.#undecided.has(dataset) || !this.receives(dataset)),
    );
    this.#undecided.clear();
    for (const upload of receiving) this.#put({ ...upload, givenUp: true });
    return receiving.map(({ owner, dataset }) => ({ owner, dataset }));
  };

  usage: Uploads['usage'] = async (owner, signal) => {
    signal.throwIfAborted();
    return this.#used(owner);
  };

  #waiting(owner: UserId): number {
    return [...this.#uploads.values()].filter((one) => one.owner === owner && one.state === 'accepted').length;
  }

  #put(upload: FakeUpload): void {
    this.#uploads.set(upload.dataset, upload);
    if (upload.state === 'receiving') this.#catalog.receiving.add(upload.dataset);
    else this.#catalog.receiving.delete(upload.dataset);
  }

  #used(owner: UserId): number {
    let bytes = 0;
    for (const upload of this.#uploads.values())
      if (upload.owner === owner && upload.state === 'receiving') bytes += upload.bytes;
    for (const { dataset, owner: theirs, files, kept } of this.#catalog.datasets.values())
      if (theirs === owner) bytes += this.#uploads.get(dataset)?.bytes ?? sum(kept ?? files.upload ?? []);
    return bytes;
  }
}

const sum = (files: readonly FileEntry[]): number => files.reduce((bytes, file) => bytes + file.size, 0);

const gone = (dataset: DatasetId): Error =>
  transient(`the upload of dataset ${dataset} was abandoned: its reservation is gone`);
