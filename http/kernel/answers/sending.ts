// Sends a response in pieces. The memory of a piece belongs to the caller again once the socket has accepted it.

import type { ServerResponse } from 'node:http';
import { finished } from 'node:stream/promises';
import { giveBack } from '../../../engine/runtime/give-back.ts';

export class Sending {
  readonly #response: ServerResponse;
  /** Rejects when the client disconnects or the request is aborted. */
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

  /** Resolves when the socket has accepted the piece. The caller may then reuse its memory. */
  write(piece: Buffer): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#response.write(piece, (error) => {
      if (!error) resolve();
      // The client is gone: report it like any response that closed too soon.
      else this.#response.destroy();
    });
    return this.unlessBroken(promise);
  }

  /** Resolves when everything is sent. */
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
 * Sends all pieces and ends the response. A failure of the pieces or an abort breaks it off. Each piece is encoded once, the next
 * one is requested when the socket has accepted it, and its memory is freed at once instead of by the garbage collector.
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
