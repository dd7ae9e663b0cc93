// The bounds of uploads: bytes per upload, and uploads per user.

import type { Hash } from 'node:crypto';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { UserId } from '../../../engine/model/ids.ts';
import { tooMany } from '../../kernel/pipeline/errors.ts';
import type { SmallUploads } from './small-files.ts';

export interface UploadLimits {
  /** Bytes of one upload. */
  readonly maxUploadBytes: number;
  /** Bytes that one owner may keep. */
  readonly quotaBytes: number;
  /** Jobs of one owner that may wait. */
  readonly waitingPerUser: number;
  /** Content-Length of the request, when it has one. */
  readonly announcedBytes: number | undefined;
  /** Uploads that are packed before they are accepted. Default: none is. */
  readonly small?: SmallUploads | undefined;
}

interface MeterLimits {
  /** Largest number of bytes of one upload. */
  readonly maxBytes: number;
  /** Attempts to raise the reserved bytes to at least `wanted`. Returns the bytes reserved now, which may be fewer. */
  readonly reserve: (wanted: number, signal: AbortSignal) => Promise<number>;
  /** @param sent bytes so far; more may come */
  readonly tooLarge: (sent: number) => Error;
  readonly overQuota: (sent: number, signal: AbortSignal) => Error | Promise<Error>;
  /** Absent = a file may be empty. */
  readonly empty?: () => Error;
}

/**
 * Counts the bytes of an upload on their way into the object store, and holds them back until the owner's quota has room.
 * One meter per upload; files pass through it one after the other.
 */
export class ByteMeter {
  readonly #limits: MeterLimits;
  #total = 0;
  #reserved = 0;

  constructor(limits: MeterLimits) {
    this.#limits = limits;
  }

  /**
   * Hands the counted bytes of `source` to `sink` and resolves with their number. Rejects with the meter's own error if it
   * refused bytes, else with the error of the source, else with that of the sink. Errors that are only a consequence of the
   * other stream's end come last. The source ends up consumed or destroyed.
   * @param hash is fed the bytes
   */
  async pass(
    source: Readable,
    sink: (counted: Readable) => Promise<void>,
    signal: AbortSignal,
    hash?: Pick<Hash, 'update'>,
  ): Promise<number> {
    let size = 0;
    let refusal: Error | undefined;
    const counted = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        size += chunk.length;
        this.#total += chunk.length;
        hash?.update(chunk);
        if (this.#total <= this.#reserved && this.#total <= this.#limits.maxBytes) return done(null, chunk);
        this.#admit(signal).then(
          () => done(null, chunk),
          (error: Error) => {
            refusal = error;
            done(error);
          },
        );
      },
      flush: (done) => {
        refusal = size === 0 ? this.#limits.empty?.() : undefined;
        done(refusal);
      },
    });
    // The pipe comes first, because a sink may destroy its stream at once.
    const piping = pipeline(source, counted, { signal });
    const sinking = sink(counted).catch((error: unknown) => {
      // Without this, a sink that does not destroy its stream would leave the source waiting forever.
      counted.destroy();
      throw error;
    });
    const [piped, sunk] = await Promise.allSettled([piping, sinking]);
    if (refusal) throw refusal;
    const reasons = [piped, sunk].flatMap((one) =>
      one.status === 'rejected' ? [{ error: one.reason as unknown }] : [],
    );
    const cause = reasons.find(({ error }) => signal.aborted || !isConsequence(error)) ?? reasons[0];
    if (cause) throw signal.aborted ? signal.reason : cause.error;
    return size;
  }

  /** Called when more bytes came than are reserved, or than one upload may have. */
  async #admit(signal: AbortSignal): Promise<void> {
    if (this.#total > this.#limits.maxBytes) throw this.#limits.tooLarge(this.#total);
    this.#reserved = await this.#limits.reserve(this.#total, signal);
    if (this.#total > this.#reserved) throw await this.#limits.overQuota(this.#total, signal);
  }
}

/** Codes of errors that only say that the other stream was closed or destroyed. `AbortError` is one if we did not abort. */
const CONSEQUENCES = ['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED', 'ABORT_ERR'];

function isConsequence(error: unknown): boolean {
  return error instanceof Error && CONSEQUENCES.includes((error as NodeJS.ErrnoException).code ?? '');
}

/** For an owner of whom so many jobs wait. */
export const tooManyJobs = (waiting: number): Error =>
  tooMany(`${waiting} of your uploads, imports and installs wait, which is the most allowed at once`, 60);

const RETRY_SECONDS = 10;

/**
 * Bounds how many uploads one user may have in progress in this process, so that a single user cannot hold all connections to
 * the object store. Nobody waits for a slot: the next upload is refused and may be retried.
 */
export class UploadSlots {
  readonly #perUser: number;
  readonly #taken = new Map<UserId, number>();

  constructor(perUser: number) {
    this.#perUser = perUser;
  }

  /** Returns a slot, to be disposed when the upload ends. Throws 429 when all slots of the user are taken. */
  take(user: UserId): Disposable {
    const taken = this.#taken.get(user) ?? 0;
    if (taken >= this.#perUser)
      throw tooMany(`you have ${taken} uploads under way, which is the most allowed at once`, RETRY_SECONDS);
    this.#taken.set(user, taken + 1);
    let held = true;
    return {
      [Symbol.dispose]: () => {
        if (held) this.#release(user);
        held = false;
      },
    };
  }

  #release(user: UserId): void {
    const left = (this.#taken.get(user) ?? 1) - 1;
    if (left === 0) this.#taken.delete(user);
    else this.#taken.set(user, left);
  }
}
