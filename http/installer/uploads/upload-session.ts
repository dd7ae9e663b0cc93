// One upload on its way in: where its parts are kept and what is reserved for it, until it is accepted or given up.
//
//   new        nothing exists                     --store, accept-->  open
//   open       a `receiving` row and some objects --accept-->         accepted
//   accepted   everything needed to finish is durable; abandon does nothing any more
//   new, open  --abandon-->                       gone: objects first, then the row, so that a crash in between leaves
//                                                 the row for the sweep to find

import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { UploadId } from '../../../engine/model/ids.ts';
import { type FileEntry, serializeMetadata } from '../../../engine/model/metadata.ts';
import {
  type DatasetAddress,
  datasetPrefix,
  type FileFolder,
  fileKey,
  objectKey,
} from '../../../engine/model/object-key.ts';
import type { EventLog } from '../../../engine/ports/event-log.ts';
import type { ObjectInfo, ObjectSource, ObjectStore } from '../../../engine/ports/object-store.ts';
import type { ResumableUpload, UploadBytes } from '../../../engine/ports/resumable-uploads.ts';
import { overQuota } from '../../../engine/ports/storage-room.ts';
import type { BeginResult, UploadSource, Uploads } from '../../../engine/ports/uploads.ts';
import { defect, kindOf } from '../../../engine/runtime/failure.ts';
import type { Logger } from '../../../engine/runtime/log.ts';
import { type Clock, deadline } from '../../../engine/runtime/time.ts';
import { conflict, tooLarge, underWay } from '../../kernel/pipeline/errors.ts';
import type { ReceivedUpload } from './received-upload.ts';
import { ownDocument, SmallFiles } from './small-files.ts';
import { ByteMeter, tooManyJobs, type UploadLimits } from './upload-limits.ts';

export interface UploadPorts {
  /** Counts nothing: what comes is counted by its reservation. */
  readonly store: Pick<ObjectStore, 'put' | 'putAll' | 'remove'>;
  readonly uploads: Pick<Uploads, 'begin' | 'grow' | 'accept' | 'giveUp' | 'abandon' | 'usage'>;
  readonly eventLog: Pick<EventLog, 'nextEventId'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * How a part is put. It is worth nothing before the metadata, with which it becomes durable. The acceptance records it and
 * enqueues the upload job, which gives the lanes all that an announcement would.
 */
const RECEIVED = { ownChunks: true, durable: false, handedOver: true } as const;
/** What is reserved at a time when nobody said how much will come. */
const STEP_BYTES = 16 * 1024 * 1024;
/** How long the commit and the clean-up may take; they do not end with the client's patience. */
const COMMIT_MS = 30_000;
const CLEANUP_MS = 30_000;
const CLEANUP_PAUSES_MS = [0, 500, 2_000];

export class UploadSession {
  readonly address: DatasetAddress;
  readonly #ports: UploadPorts;
  readonly #limits: UploadLimits;
  readonly #meter: ByteMeter;
  readonly #small: SmallFiles;
  readonly #keys: string[] = [];
  /** Those of them that become durable with the metadata. */
  readonly #received: string[] = [];
  /** Resumable uploads whose bytes are among them. */
  readonly #taken: UploadId[] = [];
  /** Objects of ours beside the upload, counted as what they are once it is accepted. */
  readonly #others: FileEntry[] = [];
  #state: 'new' | 'open' | 'accepted' | 'gone' = 'new';
  #reservedBytes = 0;
  /** Of the files that came, and of the one that is fetched later. */
  #receivedBytes = 0;
  #expectedBytes = 0;

  constructor(address: DatasetAddress, ports: UploadPorts, limits: UploadLimits) {
    this.address = address;
    this.#ports = ports;
    this.#limits = limits;
    this.#small = new SmallFiles(limits.small, limits.announcedBytes);
    this.#meter = new ByteMeter({
      maxBytes: limits.maxUploadBytes,
      reserve: (wanted, signal) => this.#reserve(wanted, signal),
      tooLarge: (sent) => this.#tooLarge(`at least ${sent}`),
      overQuota: (sent, signal) => this.#overQuota(`at least ${sent}`, signal),
    });
  }

  /** Streams one part into the store; the stream ends up consumed or destroyed, and its chunks empty: they are the store's. */
  async store(folder: FileFolder, name: string, body: Readable, signal: AbortSignal): Promise<FileEntry> {
    await this.#open(signal);
    let stored: ObjectInfo | undefined;
    const receive = async (counted: Readable): Promise<void> => {
      const rest = folder === 'raw' ? await this.#small.hold(name, counted) : counted;
      if (rest) stored = await this.#put(fileKey(this.address, folder, name), rest, signal);
    };
    // Data files get their digests when they are packed.
    const hash = folder === 'raw' ? undefined : createHash('sha256');
    const size = await this.#meter.pass(body, receive, signal, hash);
    this.#receivedBytes += size;
    return { name, size, ...(hash && stored && { sha256: hash.digest('hex'), etag: stored.etag }) };
  }

  /** Takes the bytes of a complete resumable upload. Its own reservation counts them until the acceptance. */
  async receive(upload: ResumableUpload, bytes: Pick<UploadBytes, 'handOver'>, signal: AbortSignal): Promise<void> {
    await this.#open(signal);
    this.#small.leaveToLane();
    const key = fileKey(this.address, 'raw', upload.fileName);
    this.#keys.push(key);
    this.#received.push(key);
    this.#taken.push(upload.id);
    await bytes.handOver(upload, key, signal);
  }

  /** Puts a small document of ours beside the upload; 400 when the quota has no room for it. */
  async keep(key: string, document: Uint8Array, signal: AbortSignal): Promise<void> {
    await this.#open(signal);
    await this.#demandRoomFor(key, document.length, signal);
    await this.#ports.store.put(key, document, { size: document.length }, signal);
  }

  /** Reserves room for a file that is fetched later; 400 when it is too large or the quota has none. */
  async expect(bytes: number, signal: AbortSignal): Promise<void> {
    if (bytes > this.#limits.maxUploadBytes) throw this.#tooLarge(String(bytes));
    await this.#open(signal);
    this.#expectedBytes = bytes;
    if ((await this.#reserve(bytes, signal)) < bytes) throw await this.#overQuota(String(bytes), signal);
  }

  async #put(key: string, source: ObjectSource, signal: AbortSignal): Promise<ObjectInfo> {
    this.#keys.push(key);
    this.#received.push(key);
    return await this.#ports.store.put(key, source, RECEIVED, signal);
  }

  /** Puts the metadata, then makes the dataset exist. When it resolves, nothing of the upload can be lost. */
  async accept(received: ReceivedUpload, signal: AbortSignal): Promise<void> {
    await this.#open(signal);
    const document = Buffer.from(serializeMetadata(received.metadata));
    const key = objectKey(this.address, 'vdi-meta.json');
    const packed = await this.#pack(received, document.length, signal);
    const source: UploadSource = packed ? { kind: 'files', files: packed.files } : received.source;
    const unpacked = packed ? [] : this.#small.release();
    for (const { name, bytes } of unpacked) await this.#put(fileKey(this.address, 'raw', name), bytes, signal);
    await this.#demandRoomFor(key, document.length, signal);
    // The metadata come last, because they make the dataset exist for others.
    const objects = [...(packed?.objects ?? []), ownDocument(key, document)];
    const infos = await this.#ports.store.putAll(objects, { alsoDurable: this.#received }, signal);
    const [stored, zip] = infos.toReversed();
    if (!stored || (packed && !zip)) throw defect(`the store does not say what it stored as ${key}`);
    const eventId = await this.#ports.eventLog.nextEventId(signal);
    const digest = packed && zip && { etag: zip.etag, sha256: packed.sha256 };
    const kept = { others: this.#others, taken: this.#taken, packed: digest, eventId };
    const metaVersion = { modified: stored.modified, etag: stored.etag };
    const accepted = { ...this.address, ...received, source, ...kept, metaVersion };
    using patience = this.#deadline(COMMIT_MS);
    try {
      await this.#ports.uploads.accept(accepted, patience.signal);
    } catch (error) {
      if (!(await this.#wasAccepted())) throw error;
    }
    this.#state = 'accepted';
  }

  /** Leaves nothing behind, unless the upload was accepted. Never rejects: what stays is logged, and swept later. */
  async abandon(): Promise<void> {
    if (this.#state !== 'open') return;
    this.#state = 'gone';
    using patience = this.#deadline(CLEANUP_MS);
    for (const [i, pauseMs] of CLEANUP_PAUSES_MS.entries()) {
      try {
        if (pauseMs > 0) await this.#ports.clock.sleep(pauseMs, patience.signal);
        await this.#ports.store.remove(this.#keys, patience.signal);
        await this.#ports.uploads.abandon(this.address.dataset, patience.signal);
        return;
      } catch (err) {
        const last = patience.signal.aborted || i === CLEANUP_PAUSES_MS.length - 1;
        if (!last) continue;
        const { dataset, owner } = this.address;
        this.#ports.log.warn({ err, dataset, owner }, 'an upload was abandoned, but its parts could not be removed');
        // The sweep spares what a living process holds. Were this to fail too, it would find out by itself.
        await this.#ports.uploads.giveUp(dataset, patience.signal).catch(() => undefined);
        return;
      }
    }
  }

  async #open(signal: AbortSignal): Promise<void> {
    if (this.#state === 'gone') throw conflict(`the upload of dataset ${this.address.dataset} was abandoned`);
    if (this.#state !== 'new') return;
    // Before the call: a row may exist although the call failed.
    this.#state = 'open';
    const { announcedBytes } = this.#limits;
    let isCrowded = false;
    // Without an announcement the step is only a guess, and a small upload may still fit where the step does not.
    for (const bytes of announcedBytes === undefined ? [STEP_BYTES, 0] : this.#small.reservations(announcedBytes)) {
      this.#reservedBytes = bytes;
      const result = await this.#begin(bytes, signal);
      if (result === 'begun') return;
      isCrowded = result === 'too many jobs';
      if (isCrowded) break;
    }
    // Nothing was opened.
    this.#state = 'new';
    this.#reservedBytes = 0;
    if (isCrowded) throw tooManyJobs(this.#limits.waitingPerUser);
    throw await this.#overQuota(announcedBytes === undefined ? 'more' : String(announcedBytes), signal);
  }

  async #begin(bytes: number, signal: AbortSignal): Promise<BeginResult> {
    const { quotaBytes, waitingPerUser } = this.#limits;
    try {
      return await this.#ports.uploads.begin(this.address, bytes, { bytes: quotaBytes, jobs: waitingPerUser }, signal);
    } catch (error) {
      if (kindOf(error) !== 'rejected') throw error;
      // The row is another request's, and so is what lies below the id: nothing of it is ours to remove.
      this.#state = 'gone';
      throw underWay(`another upload as dataset ${this.address.dataset} is under way`);
    }
  }

  /** The objects of a small upload. Undefined when the lane has to pack it, or the quota has no room for them. */
  async #pack(received: ReceivedUpload, documentBytes: number, signal: AbortSignal) {
    const packed = await this.#small.pack(this.address, received.source, signal);
    const wanted = this.#receivedBytes + (packed?.bytes ?? 0) + documentBytes;
    if (!packed || (await this.#reserve(wanted, signal)) < wanted) return undefined;
    for (const { key, options } of packed.objects) this.#note(key, options.size);
    return packed;
  }

  #note(key: string, bytes: number): void {
    this.#others.push({ name: key.slice(datasetPrefix(this.address).length), size: bytes });
    this.#keys.push(key);
  }

  /** 400 when the quota has no room for a document of ours. */
  async #demandRoomFor(key: string, bytes: number, signal: AbortSignal): Promise<void> {
    this.#note(key, bytes);
    const files = Math.max(this.#receivedBytes, this.#expectedBytes);
    if ((await this.#reserve(files, signal)) < files)
      throw await this.#overQuota(String(files + this.#othersBytes), signal);
  }

  get #othersBytes(): number {
    return this.#others.reduce((sum, { size }) => sum + size, 0);
  }

  /** A step more than `wanted` if the quota has room for it, else exactly that. Returns what is reserved for files. */
  async #reserve(wanted: number, signal: AbortSignal): Promise<number> {
    const others = this.#othersBytes;
    if (wanted + others <= this.#reservedBytes) return this.#reservedBytes - others;
    // What is fetched later has a size, or none that could be guessed.
    const step = this.#expectedBytes > 0 ? 0 : STEP_BYTES;
    for (const bytes of [wanted + others + step, wanted + others]) {
      if (!(await this.#ports.uploads.grow(this.address.dataset, bytes, this.#limits.quotaBytes, signal))) continue;
      this.#reservedBytes = bytes;
      break;
    }
    return this.#reservedBytes - others;
  }

  /**
   * After a commit whose outcome is unknown: decided by giving the row up, which fails if the commit happened. If even that
   * cannot be asked, nothing is removed: the row still says what there is to sweep.
   */
  async #wasAccepted(): Promise<boolean> {
    const { dataset, owner } = this.address;
    using patience = this.#deadline(CLEANUP_MS);
    try {
      return !(await this.#ports.uploads.giveUp(dataset, patience.signal));
    } catch (err) {
      this.#state = 'gone';
      this.#ports.log.warn({ err, dataset, owner }, 'the outcome of an upload is unknown; its parts are kept');
      return false;
    }
  }

  #tooLarge(sent: string): Error {
    return tooLarge(`the upload has ${sent} bytes; an upload may have ${this.#limits.maxUploadBytes}`);
  }

  /** Says what is left without this upload, whose own reservation counts as used. */
  async #overQuota(sent: string, signal: AbortSignal): Promise<Error> {
    const { quotaBytes } = this.#limits;
    const used = (await this.#ports.uploads.usage(this.address.owner, signal)) - this.#reservedBytes;
    return tooLarge(overQuota('the upload has', sent, quotaBytes, used));
  }

  #deadline(ms: number): ReturnType<typeof deadline> {
    return deadline(this.#ports.clock, ms, undefined, () => new Error(`not finished within ${ms} ms`));
  }
}
