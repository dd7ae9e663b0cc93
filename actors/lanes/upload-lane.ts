// The upload lane turns a user's upload into import-ready.zip. Order of effects: manifest, import-ready.zip, one transaction
// with status and import job, then raw/ is removed. After a crash before that transaction the whole job runs again from raw/.
// After a crash behind it the job only removes what is left under raw/. An upload by URL is downloaded into raw/ first, once;
// from then on it is an upload of files.

import type { ArchiveLimits } from '../../engine/archive/archive-limits.ts';
import type { DataTypes } from '../../engine/model/data-types.ts';
import type { FileEntry } from '../../engine/model/metadata.ts';
import { type DatasetAddress, fileKey, objectKey } from '../../engine/model/object-key.ts';
import type { Catalog, CatalogChange, DatasetRecord } from '../../engine/ports/catalog.ts';
import type { ClaimedJob, JobOutcome } from '../../engine/ports/jobs.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type { Uploads } from '../../engine/ports/uploads.ts';
import { kindOf, messageOf, rejected } from '../../engine/runtime/failure.ts';
import { outcomeText } from '../../engine/runtime/owner-text.ts';
import { archiveChange, HANDED_OVER, manifestObject, settled, writeUploadError } from '../dataset/stored-documents.ts';
import { DONE, type FailedOutcome, type JobHandler } from '../jobs/job-handler.ts';
import type { Scratch } from '../jobs/scratch.ts';
import type { ReceivedFiles } from '../plugin-host/received-files.ts';
import type { LinkedTree } from '../plugin-host/unpacked-trees.ts';
import { overQuota } from '../tasks/fetch-upload.ts';
import type { PackUploadInput } from '../tasks/pack-upload.ts';
import { objectFile, type TaskRunner } from '../tasks/task-map.ts';

export interface UploadLimits {
  /** Bytes of one upload after unpacking. */
  readonly maxTotalBytes: number;
  /** Limits for unpacking. */
  readonly archives: Pick<ArchiveLimits, 'maxEntries' | 'maxNameBytes' | 'maxMs'>;
  /** Undefined = uploads by URL are rejected. */
  readonly url?: {
    /** Bytes of one upload as downloaded. */
    readonly maxUploadBytes: number;
    /** Quota of one user, in bytes. */
    readonly quotaBytes: number;
    /** Concurrent downloads in this process, so that slow servers leave workers for uploads of files. */
    readonly atOnce: number;
  };
}

interface UploadLanePorts {
  readonly catalog: Catalog;
  readonly uploads: Uploads;
  readonly store: ObjectStore;
  readonly tasks: TaskRunner;
  /** Absent where no plugin is called in this process. */
  readonly received?: Pick<ReceivedFiles, 'link'> | undefined;
}

/** What became of an upload, and how its files can be kept, if they can be. */
interface Packed {
  readonly changes: readonly CatalogChange[];
  readonly link?: (signal: AbortSignal) => Promise<LinkedTree | undefined>;
}

/** For a download when the limit of concurrent downloads is reached. */
const LATER: JobOutcome = {
  kind: 'retry',
  delayMs: 5_000,
  message: 'waiting for other uploads by URL to finish',
  countsAttempt: false,
  idle: true,
};

export class UploadLane implements JobHandler {
  readonly lane = 'upload';
  readonly #ports: UploadLanePorts;
  readonly #types: DataTypes;
  readonly #limits: UploadLimits;
  readonly #scratch: Scratch;
  #fetching = 0;

  constructor(ports: UploadLanePorts, types: DataTypes, limits: UploadLimits, scratch: Scratch) {
    this.#ports = ports;
    this.#types = types;
    this.#limits = limits;
    this.#scratch = scratch;
  }

  async run(job: ClaimedJob, signal: AbortSignal): Promise<JobOutcome> {
    const { catalog, uploads, store } = this.#ports;
    const found = await uploads.find(job.dataset, signal);
    if (!found) return DONE;
    const { record, source } = found;
    const at = { owner: record.owner, dataset: record.dataset };
    if (!source) {
      await this.#removeRaw(at, signal);
      return DONE;
    }
    if (source.kind === 'url' && this.#limits.url && this.#fetching >= this.#limits.url.atOnce) return LATER;
    let files = source.kind === 'files' ? source.files : [];
    let packed: Packed = { changes: [] };
    let outcome: JobOutcome = DONE;
    // `failed` here: an administrator retries it, or a crash came between that status and the end of the job itself.
    if (record.upload.status === 'failed')
      await catalog.write(job.dataset, job.lease, [{ set: 'upload', status: 'running' }], signal);
    if (record.upload.status === 'running' || record.upload.status === 'failed') {
      try {
        packed = await this.#scratch.using(job, async (folder) => {
          if (source.kind === 'url') files = [await this.#fetchOnce(job, record, source.url, folder, signal)];
          return this.#pack(job, record, { files, leftOut: source.leftOut }, folder, signal);
        });
        outcome = { kind: 'done', did: 'upload packed and stored' };
      } catch (error) {
        if (kindOf(error) !== 'rejected') throw error;
        outcome = { kind: 'invalid', message: messageOf(error) };
        packed = { changes: await this.#refuse(at, outcome.message, signal) };
      }
    }
    await catalog.write(job.dataset, job.lease, [...packed.changes, { set: 'uploadStored' }], signal);
    const kept = await packed.link?.(signal);
    await store.discard(
      files.map((file) => fileKey(at, 'raw', file.name)),
      signal,
    );
    await kept?.keep();
    return outcome;
  }

  async report(job: ClaimedJob, outcome: FailedOutcome, signal: AbortSignal): Promise<void> {
    const { catalog, store } = this.#ports;
    const record = await catalog.find(job.dataset, signal);
    // Once the upload has ended, only its raw files remain to be removed, which is no news for the owner.
    if (record?.upload.status !== 'running') return;
    const message = outcomeText(outcome, await this.#ownUrl(job, signal));
    const at = { owner: job.owner, dataset: job.dataset };
    if (outcome.kind === 'retry') {
      await catalog.write(job.dataset, job.lease, [{ set: 'upload', status: 'running', message }], signal);
      return;
    }
    // For an internal error the owner reads only that it was internal; the log has the details.
    const status = outcome.failure === 'rejected' ? 'rejected' : 'failed';
    await writeUploadError(store, at, { status, message }, signal);
    await catalog.write(job.dataset, job.lease, [{ set: 'upload', status, message }], signal);
  }

  /** The URL as messages show it: without its query. */
  async #ownUrl(job: ClaimedJob, signal: AbortSignal): Promise<string | undefined> {
    const source = await this.#ports.uploads.source(job.dataset, signal);
    const url = source?.kind === 'url' ? URL.parse(source.url) : null;
    return url ? url.origin + url.pathname : undefined;
  }

  async #fetchOnce(
    job: ClaimedJob,
    record: DatasetRecord,
    url: string,
    scratchDir: string,
    signal: AbortSignal,
  ): Promise<FileEntry> {
    this.#fetching++;
    try {
      const before = await this.#fetchedBefore({ owner: record.owner, dataset: record.dataset }, signal);
      const entry = before ?? (await this.#fetch(job, record, url, scratchDir, signal));
      await this.#ports.uploads.fetched(job.dataset, job.lease, [entry], signal);
      return entry;
    } finally {
      this.#fetching--;
    }
  }

  async #fetch(
    job: ClaimedJob,
    record: DatasetRecord,
    url: string,
    scratchDir: string,
    signal: AbortSignal,
  ): Promise<FileEntry> {
    const { uploads, store, tasks } = this.#ports;
    const { url: limits, maxTotalBytes } = this.#limits;
    if (!limits) throw rejected('uploads by URL are not enabled on this server');
    const at = { owner: record.owner, dataset: record.dataset };
    const { maxUploadBytes, quotaBytes } = limits;
    const roomBytes = await uploads.room(job.dataset, quotaBytes, signal);
    const maxFileBytes = this.#types.find(record.metadata.type)?.maxFileSize ?? maxTotalBytes;
    const { file, name, size } = await tasks.run(
      'fetch-upload',
      { at, url, scratchDir, limits: { maxUploadBytes, maxFileBytes, quotaBytes, roomBytes } },
      { signal, alone: job.alone, owner: job.owner },
    );
    // Another upload may have used the quota in the meantime.
    if (!(await uploads.grow(job.dataset, size, quotaBytes, signal)))
      throw rejected(overQuota({ quotaBytes, roomBytes: await uploads.room(job.dataset, quotaBytes, signal) }));
    await store.put(fileKey(at, 'raw', name), { file }, { size }, signal);
    return { name, size };
  }

  /** If a crash came after the download, the file is not downloaded again: the link may not work any more. */
  async #fetchedBefore(at: DatasetAddress, signal: AbortSignal): Promise<FileEntry | undefined> {
    const prefix = fileKey(at, 'raw', '');
    for await (const { key, size } of this.#ports.store.list(prefix, {}, signal))
      return { name: key.slice(prefix.length), size };
    return undefined;
  }

  async #pack(
    job: ClaimedJob,
    record: DatasetRecord,
    received: Pick<PackUploadInput, 'files' | 'leftOut'>,
    scratchDir: string,
    signal: AbortSignal,
  ): Promise<Packed> {
    const { store, tasks, received: receivedFiles } = this.#ports;
    const at = { owner: record.owner, dataset: record.dataset };
    const type = this.#types.find(record.metadata.type);
    const packed = await tasks.run(
      'pack-upload',
      {
        at,
        ...received,
        scratchDir,
        limits: {
          maxTotalBytes: this.#limits.maxTotalBytes,
          maxFileBytes: Math.min(type?.maxFileSize ?? this.#limits.maxTotalBytes, this.#limits.maxTotalBytes),
          ...this.#limits.archives,
        },
        allowedFileExtensions: type?.allowedFileExtensions ?? [],
      },
      { signal, alone: job.alone, owner: job.owner },
    );
    const archives = { 'import-ready.zip': packed.zip };
    const manifest = { rawUploads: packed.files, installReady: [], archives };
    const stored = await store.putAll(
      [
        manifestObject(at, manifest),
        { key: objectKey(at, 'import-ready.zip'), source: { file: packed.zipFile }, options: HANDED_OVER },
      ],
      { settle: 'by caller' },
      signal,
    );
    // An earlier attempt may have recorded that the upload failed.
    const error = objectKey(at, 'upload-error.json');
    if (await store.head(error, signal)) await store.remove([error], signal);
    const changes: readonly CatalogChange[] = [
      settled(at, stored),
      { set: 'uploadFiles', files: packed.files },
      ...archiveChange(at, 'import-ready.zip', archives, stored),
      { set: 'upload', status: 'success', ...(packed.notes.length > 0 ? { message: packed.notes.join('; ') } : {}) },
      { set: 'next', lane: 'import', eventId: job.eventId, source: 'upload-lane' },
    ];
    const zip = stored.find(({ key }) => key === objectKey(at, 'import-ready.zip'));
    if (!zip || !type || packed.plain.length === 0) return { changes };
    const archive = objectFile(zip, 'import-ready.zip');
    return { changes, link: async (until) => receivedFiles?.link(type.plugin, archive, packed.plain, until) };
  }

  /** The user's data are at fault: this is recorded in the store and in the status, and the job is over. */
  async #refuse(at: DatasetAddress, message: string, signal: AbortSignal): Promise<readonly CatalogChange[]> {
    await writeUploadError(this.#ports.store, at, { status: 'rejected', message }, signal);
    return [{ set: 'upload', status: 'rejected', message }];
  }

  /** The upload is stored, but the job that stored it did not end: it may not have removed all of its files. */
  async #removeRaw(at: DatasetAddress, signal: AbortSignal): Promise<void> {
    const { store } = this.#ports;
    const keys: string[] = [];
    for await (const { key } of store.list(fileKey(at, 'raw', ''), {}, signal)) keys.push(key);
    await store.discard(keys, signal);
  }
}
