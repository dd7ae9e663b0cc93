// Counts the bytes of an upload on their way into the object store, and holds them back until the owner's quota has
// room for them. One meter per upload; its files pass one after the other.

import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';

export interface MeterLimits {
  /** Largest number of bytes of one upload. */
  readonly maxBytes: number;
  /** Raises the reserved bytes to at least `wanted`; answers the bytes reserved now, which are fewer when it cannot. */
  readonly reserve: (wanted: number, signal: AbortSignal) => Promise<number>;
  /** @param sent bytes so far; more may come */
  readonly tooLarge: (sent: number) => Error;
  readonly overQuota: (sent: number, signal: AbortSignal) => Error | Promise<Error>;
  /** Absent = a file may be empty. */
  readonly empty?: () => Error;
}

export class ByteMeter {
  readonly #limits: MeterLimits;
  #total = 0;
  #reserved = 0;

  constructor(limits: MeterLimits) {
    this.#limits = limits;
  }

  /**
   * Hands the counted bytes of `source` to `sink` and resolves with their number. Rejects with the meter's own error
   * when it refused bytes, else with that of the source, else with that of the sink. The source ends up consumed or
   * destroyed.
   */
  async pass(source: Readable, sink: (counted: Readable) => Promise<void>, signal: AbortSignal): Promise<number> {
    let size = 0;
    let refusal: Error | undefined;
    const counted = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        size += chunk.length;
        this.#total += chunk.length;
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
    // First the pipe: a sink may destroy its stream at once.
    const piping = pipeline(source, counted, { signal });
    const sinking = sink(counted).catch((error: unknown) => {
      // A sink that left its stream alone would leave the source waiting for ever.
      counted.destroy();
      throw error;
    });
    const [piped, sunk] = await Promise.allSettled([piping, sinking]);
    if (refusal) throw refusal;
    if (piped.status === 'rejected' && !isPrematureClose(piped.reason)) throw piped.reason;
    if (sunk.status === 'rejected') throw sunk.reason;
    if (piped.status === 'rejected') throw piped.reason;
    return size;
  }

  /** Of more bytes than are reserved, or than there may be. */
  async #admit(signal: AbortSignal): Promise<void> {
    if (this.#total > this.#limits.maxBytes) throw this.#limits.tooLarge(this.#total);
    this.#reserved = await this.#limits.reserve(this.#total, signal);
    if (this.#total > this.#reserved) throw await this.#limits.overQuota(this.#total, signal);
  }
}

/** The sink gave up first and destroyed its stream: its own error says why. */
function isPrematureClose(error: unknown): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';
}
