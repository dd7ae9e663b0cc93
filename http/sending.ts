// An answer that goes out in pieces, the memory of which is the sender's again once the socket has taken them.

import type { ServerResponse } from 'node:http';
import { finished } from 'node:stream/promises';
import { giveBack } from '../engine/give-back.ts';

export class Sending {
  readonly #response: ServerResponse;
  /** Rejects when nobody reads on, or with the abort. */
  readonly #sent: Promise<void>;
  #broken: { readonly reason: unknown } | undefined;
  #giveUp: (reason: unknown) => void = () => {};

  constructor(response: ServerResponse, signal: AbortSignal) {
    this.#response = response;
    this.#sent = finished(response, { signal });
    this.#sent.catch((reason) => {
      this.#broken = { reason };
      this.#giveUp(reason);
    });
  }

  /** Resolves when the socket has taken the piece, which is the caller's again. */
  write(piece: Buffer): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#response.write(piece, (error) => {
      if (!error) resolve();
      // Nobody reads on, which is told like any answer that closed too soon.
      else this.#response.destroy();
    });
    return this.unlessBroken(promise);
  }

  /** Resolves when all is sent. */
  end(): Promise<void> {
    this.#response.end();
    return this.#sent;
  }

  unlessBroken<Value>(promise: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      this.#giveUp = reject;
      if (this.#broken) reject(this.#broken.reason);
      else promise.then(resolve, reject);
    });
  }
}

/**
 * Ends the answer. A failure of the pieces, or an abort, breaks it off. They go out as bytes, of which the socket needs no
 * copy, and one is made when the one before is gone: what the collector would find of them is given back.
 */
export async function sendPieces(
  pieces: AsyncIterator<string>,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const sending = new Sending(response, signal);
  try {
    for (;;) {
      const bytes = bytesOf(await sending.unlessBroken(pieces.next()));
      if (!bytes) break;
      await sending.write(bytes);
      giveBack(bytes);
    }
    await sending.end();
  } catch (error) {
    response.destroy();
    throw error;
  } finally {
    await pieces.return?.();
  }
}

const bytesOf = (piece: IteratorResult<string, unknown>): Buffer | undefined =>
  piece.done ? undefined : Buffer.from(piece.value);
