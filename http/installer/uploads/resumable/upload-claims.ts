// Who may change an upload: one request at a time, over all processes. A client that lost its connection comes back before we
// know that the old one is dead. So the newer request wins: the older one records what it received, and releases the claim.
//
//   held     the row names this process, which checks every second whether another request wants the upload
//   wanted   `yielding` aborts; the holder records what is durable and disposes of the claim
//   lost     another process considered this one dead; `yielding` aborts, and nothing more can be recorded

import type { UploadId, UserId } from '../../../../engine/model/ids.ts';
import type {
  ClaimState,
  ResumableUploads,
  UploadClaim,
  UploadProgress,
} from '../../../../engine/ports/resumable-uploads.ts';
import type { Logger } from '../../../../engine/runtime/log.ts';
import { type Clock, deadline } from '../../../../engine/runtime/time.ts';
import { gone, notFound } from '../../../kernel/pipeline/errors.ts';
import { locked } from './tus-headers.ts';

export interface ClaimParts {
  readonly resumable: ResumableUploads;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How long a newer request waits for the older one. */
const WAIT_MS = 10_000;
const ASK_MS = 200;
const WATCH_MS = 1_000;
const RELEASE_MS = 10_000;

export class UploadClaims {
  readonly #parts: ClaimParts;
  readonly #held = new Map<UploadId, HeldUpload>();

  constructor(parts: ClaimParts) {
    this.#parts = parts;
  }

  /** Throws 404 unless the owner has such an open upload, 410 when it has expired, 423 when its holder does not release it. */
  async take(id: UploadId, owner: UserId, signal: AbortSignal): Promise<HeldUpload> {
    const { resumable, clock } = this.#parts;
    const until = clock.now() + WAIT_MS;
    for (;;) {
      const claim = await resumable.claim(id, owner, clock.now(), signal);
      if (claim === undefined)
        throw (await resumable.find(id, owner, signal))
          ? gone(`upload ${id} has expired`)
          : notFound(`there is no upload ${id}`);
      if (claim !== 'held') {
        const held = new HeldUpload(claim, this.#parts, () => this.#held.delete(id));
        this.#held.set(id, held);
        return held;
      }
      if (clock.now() >= until) throw locked(`upload ${id} is being changed by another request`);
      this.#held.get(id)?.yield();
      await clock.sleep(ASK_MS, signal);
    }
  }
}

export class HeldUpload implements AsyncDisposable {
  readonly claim: UploadClaim;
  readonly #parts: ClaimParts;
  readonly #onReleased: () => void;
  readonly #yielding = new AbortController();
  readonly #released = new AbortController();
  readonly #watching: Promise<void>;

  constructor(claim: UploadClaim, parts: ClaimParts, onReleased: () => void) {
    this.claim = claim;
    this.#parts = parts;
    this.#onReleased = onReleased;
    this.#watching = this.#watch();
  }

  get upload(): UploadClaim['upload'] {
    return this.claim.upload;
  }

  /** Aborts when the request has to end because of another one. */
  get yielding(): AbortSignal {
    return this.#yielding.signal;
  }

  yield(): void {
    this.#yielding.abort(this.#taken());
  }

  async advance(progress: UploadProgress, signal: AbortSignal): Promise<void> {
    this.#take(await this.#parts.resumable.advance(this.claim, progress, signal), true);
  }

  /** Marks the upload as gone. */
  async giveUp(signal: AbortSignal): Promise<void> {
    this.#take(await this.#parts.resumable.giveUp(this.claim, signal), true);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { resumable, clock, log } = this.#parts;
    this.#released.abort();
    await this.#watching;
    using limit = deadline(clock, RELEASE_MS, undefined, () => new Error(`not within ${RELEASE_MS} ms`));
    try {
      await resumable.release(this.claim, limit.signal);
    } catch (err) {
      log.warn(
        { err, upload: this.upload.id },
        'a resumable upload could not be released; it stays claimed until this process ends',
      );
    } finally {
      this.#onReleased();
    }
  }

  async #watch(): Promise<void> {
    const { signal } = this.#released;
    while (!signal.aborted) {
      try {
        await this.#parts.clock.sleep(WATCH_MS, signal);
        this.#take(await this.#parts.resumable.check(this.claim, signal), false);
      } catch {
        // Released, or the database is away: then nothing can be recorded either.
      }
    }
  }

  #take(state: ClaimState, demanded: boolean): void {
    if (state !== 'ours') this.yield();
    if (state === 'lost' && demanded) throw this.#taken();
  }

  #taken(): Error {
    return locked(`another request continues upload ${this.upload.id}`);
  }
}
