// What the routes of resumable uploads do: creates, continues and terminates them within the limits of their owner.

import { newUploadId, parseUploadId, type UploadId, type UserId } from '../../../../engine/model/ids.ts';
import type { ResumableUpload, ResumableUploads, UploadBytes } from '../../../../engine/ports/resumable-uploads.ts';
import { overQuota } from '../../../../engine/ports/storage-room.ts';
import type { Uploads } from '../../../../engine/ports/uploads.ts';
import type { Logger } from '../../../../engine/runtime/log.ts';
import type { Metrics } from '../../../../engine/runtime/metrics.ts';
import { type Clock, deadline } from '../../../../engine/runtime/time.ts';
import { mediaType } from '../../../kernel/bodies/body.ts';
import { BodyDigests } from '../../../kernel/bodies/body-digests.ts';
import type { RequestContext } from '../../../kernel/pipeline/context.ts';
import { badRequest, HttpError, notFound, tooLarge, tooMany } from '../../../kernel/pipeline/errors.ts';
import type { Fingerprint } from '../../../kernel/pipeline/fingerprint.ts';
import type { Created, KeyedRequest } from '../../../kernel/pipeline/idempotency.ts';
import type { UploadSlots } from '../upload-limits.ts';
import { type AppendChecks, type Appended, append } from './appending.ts';
import {
  bytesIn,
  demandOffsetType,
  demandVersion,
  httpDate,
  OFFSET_TYPE,
  overLength,
  readChecksum,
  readMetadata,
} from './tus-headers.ts';
import { type HeldUpload, UploadClaims } from './upload-claims.ts';
import { readWholeDigest, WholeDigests, WrongUpload } from './whole-digests.ts';

/** What happened to an upload, for the metrics. */
export type ResumableOutcome = 'created' | 'received' | 'used' | 'terminated';

export function resumableMetrics(metrics: Metrics): (outcome: ResumableOutcome) => void {
  const uploads = metrics.counter('resumable_uploads_total', 'Resumable uploads by what happened to them.', [
    'outcome',
  ]);
  return (outcome) => uploads.inc({ outcome });
}

export interface ResumableSettings {
  /** Bytes of one upload. */
  readonly maxUploadBytes: number;
  /** Bytes that one user may keep. */
  readonly userMaxStorageBytes: number;
  /** Open uploads of one user. */
  readonly resumablePerUser: number;
  /** How long an upload waits to be continued, in ms: the current setting. */
  readonly resumableExpiryMs: () => number;
}

export interface ResumableParts {
  readonly resumable: ResumableUploads;
  readonly uploadBytes: UploadBytes;
  readonly uploads: Pick<Uploads, 'usage'>;
  readonly settings: ResumableSettings;
  /** Fills the array with random bytes. */
  readonly random: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array;
  readonly onResumable: (outcome: ResumableOutcome) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

const REMOVE_MS = 30_000;
/** `Retry-After` for a user with too many open uploads. */
const RETRY_SECONDS = 60;

export class ResumableIntake {
  readonly claims: UploadClaims;
  readonly #parts: ResumableParts;
  readonly #slots: UploadSlots;
  readonly #whole = new WholeDigests();

  /** @param slots of all uploads of this process */
  constructor(parts: ResumableParts, slots: UploadSlots) {
    this.#parts = parts;
    this.#slots = slots;
    this.claims = new UploadClaims(parts);
  }

  list(owner: UserId, signal: AbortSignal): Promise<readonly ResumableUpload[]> {
    return this.#parts.resumable.list(owner, signal);
  }

  async find(context: RequestContext): Promise<ResumableUpload> {
    const id = idOf(context);
    const found = await this.#parts.resumable.find(id, context.userId, context.signal);
    if (!found) throw notFound(`there is no upload ${id}`);
    return found;
  }

  /**
   * For a client that is about to continue. An earlier request, whose connection is dead, ends first and records what it received.
   * Otherwise the client would get an offset that is outdated when it sends its bytes.
   */
  async settled(context: RequestContext): Promise<ResumableUpload> {
    demandVersion(context.request);
    await using held = await this.claims.take(idOf(context), context.userId, context.signal);
    return held.upload;
  }

  /** What a creation asks for. Its bytes are none of it: a repetition continues with those that were received. */
  print({ request }: RequestContext, print: Fingerprint): void {
    const { 'upload-length': length, 'upload-metadata': metadata } = request.headers;
    print.document('upload', { length, metadata });
  }

  /** Creates an upload, with the first bytes of it if the request has a body. */
  async create(context: RequestContext, keyed: KeyedRequest | undefined): Promise<Created> {
    const { request, userId: owner, signal } = context;
    demandVersion(request);
    const length = this.#lengthOf(context);
    const { text, fileName } = readMetadata(request);
    const hasBytes = mediaType(request.headers['content-type']) === OFFSET_TYPE;
    const checksum = hasBytes ? readChecksum(request) : undefined;
    // Of the two fields, Repr-Digest is of the whole upload.
    const digests = BodyDigests.of(request.headers, ['content-digest']);
    const sha256 = readWholeDigest(request);
    const { resumable, settings, clock, random, onResumable } = this.#parts;
    const bounds = { bytes: settings.userMaxStorageBytes, uploads: settings.resumablePerUser };
    const expiresMs = clock.now() + settings.resumableExpiryMs();
    const said = sha256 === undefined ? {} : { sha256 };
    const created = { ...{ id: newUploadId(random), owner, length, fileName, metadata: text, expiresMs }, ...said };
    const isEmpty = !hasBytes && length > 0;
    const answer = createdAnswer({ ...created, offset: 0 });
    // With bytes, the answer is known later.
    const sealed = isEmpty ? keyed?.seal(answer) : undefined;
    const result = await resumable.create(created, { ...bounds, keyed: sealed }, signal);
    if (result === 'too many uploads')
      throw tooMany(
        `you have ${bounds.uploads} resumable uploads, which is the most allowed; finish or delete some`,
        RETRY_SECONDS,
      );
    if (result === 'over quota')
      throw tooLarge(overQuota('the upload has', length, bounds.bytes, await this.#parts.uploads.usage(owner, signal)));
    onResumable('created');
    if (isEmpty) return answer;
    await using held = await this.claims.take(created.id, owner, signal);
    try {
      // The bytes of an empty upload are stored, too.
      const { offset, expiresMs: later } = await this.#append(held, context, { checksum, digests });
      return createdAnswer({ id: created.id, offset, expiresMs: later });
    } catch (error) {
      // The client has not learned the id.
      await this.#remove(held);
      throw error;
    }
  }

  async append(context: RequestContext): Promise<Appended> {
    const { request, userId: owner, signal } = context;
    demandVersion(request);
    demandOffsetType(request);
    const offset = bytesIn(request, 'Upload-Offset');
    if (offset === undefined)
      throw badRequest('header Upload-Offset is missing; it says where the bytes of the body begin');
    const checks = { checksum: readChecksum(request), digests: BodyDigests.of(request.headers) };
    await using held = await this.claims.take(idOf(context), owner, signal);
    if (offset !== held.upload.offset)
      throw new HttpError(
        'conflict',
        `header Upload-Offset is ${offset}, but the upload has ${held.upload.offset} bytes`,
        {
          headers: { 'upload-offset': String(held.upload.offset) },
        },
      );
    try {
      // The claim ends with this function.
      return await this.#append(held, context, checks);
    } catch (error) {
      if (error instanceof WrongUpload) await this.#remove(held);
      throw error;
    }
  }

  async terminate(context: RequestContext): Promise<void> {
    demandVersion(context.request);
    await using held = await this.claims.take(idOf(context), context.userId, context.signal);
    await this.#remove(held);
    this.#parts.onResumable('terminated');
  }

  async #append(held: HeldUpload, context: RequestContext, checks: AppendChecks): Promise<Appended> {
    const { uploadBytes: bytes, clock, settings, onResumable } = this.#parts;
    using _slot = this.#slots.take(held.upload.owner);
    const parts = { bytes, clock, expiryMs: settings.resumableExpiryMs, whole: this.#whole };
    const appended = await append(held, context.request, checks, parts, context.signal);
    if (appended.offset === held.upload.length && held.upload.offset < held.upload.length) onResumable('received');
    return appended;
  }

  /** What cannot be removed now is swept later. */
  async #remove(held: HeldUpload): Promise<void> {
    const { resumable, uploadBytes, clock, log } = this.#parts;
    const { id } = held.upload;
    this.#whole.forget(id);
    using limit = deadline(clock, REMOVE_MS, undefined, () => new Error(`not removed within ${REMOVE_MS} ms`));
    await held.giveUp(limit.signal);
    try {
      await uploadBytes.remove(id, limit.signal);
      await resumable.forget(id, limit.signal);
    } catch (err) {
      log.warn({ err, upload: id }, 'a resumable upload could not be removed; it is swept later');
    }
  }

  #lengthOf({ request }: RequestContext): number {
    const { maxUploadBytes } = this.#parts.settings;
    if (request.headers['upload-defer-length'] !== undefined)
      throw badRequest('header Upload-Defer-Length is not supported; send the size of the file as Upload-Length');
    const length = bytesIn(request, 'Upload-Length');
    if (length === undefined) throw badRequest('header Upload-Length is missing; it says how many bytes the file has');
    if (length > maxUploadBytes)
      throw overLength(`header Upload-Length is ${length}; an upload may have ${maxUploadBytes} bytes`);
    return length;
  }
}

const createdAnswer = ({ id, offset, expiresMs }: Pick<ResumableUpload, 'id' | 'offset' | 'expiresMs'>): Created => ({
  ...{ code: 201, path: `/uploads/${id}` },
  headers: { 'upload-offset': String(offset), 'upload-expires': httpDate(expiresMs) },
});

/** Throws 404 for anything that is not an id. */
function idOf(context: RequestContext): UploadId {
  const given = context.param('id');
  const id = parseUploadId(given);
  if (!id) throw notFound(`there is no upload ${given.slice(0, 64)}`);
  return id;
}
