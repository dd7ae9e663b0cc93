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
   * when it refused bytes, else with that of the source, else with that of the sink: with what came first, never with what
   * streams make of the end of each other. The source ends up consumed or destroyed.
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
    const reasons = [piped, sunk].flatMap((one) =>
      one.status === 'rejected' ? [{ error: one.reason as unknown }] : [],
    );
    const cause = reasons.find(({ error }) => signal.aborted || !isConsequence(error)) ?? reasons[0];
    if (cause) throw signal.aborted ? signal.reason : cause.error;
    return size;
  }

  /** Of more bytes than are reserved, or than there may be. */
  async #admit(signal: AbortSignal): Promise<void> {
    if (this.#total > this.#limits.maxBytes) throw this.#limits.tooLarge(this.#total);
    this.#reserved = await this.#limits.reserve(this.#total, signal);
    if (this.#total > this.#reserved) throw await this.#limits.overQuota(this.#total, signal);
  }
}

/** What a stream says when another one was closed or destroyed under it; without an abort of ours, `AbortError` is such, too. */
const CONSEQUENCES = ['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED', 'ABORT_ERR'];

function isConsequence(error: unknown): boolean {
  return error instanceof Error && CONSEQUENCES.includes((error as NodeJS.ErrnoException).code ?? '');
}
