// Sends responses in pieces, in bounded memory: text that is made piece by piece, and bodies of objects.

import type { ServerResponse } from 'node:http';
import { finished, pipeline } from 'node:stream/promises';
import type { DirectBody, OpenObject } from '../../../engine/ports/object-store.ts';
import { giveBack } from '../../../engine/runtime/give-back.ts';

/** The memory of a piece belongs to the caller again once the socket has accepted it. */
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

/** Lower bound of a piece. */
const LEAST_BYTES = 8 * 1024;
/** A piece takes at most this fraction of what is left. */
const PART = 8;

/**
 * Bounds the memory for bodies that a listener sends. A single download uses pieces of full size. When many run at once, each takes
 * a fraction of what is left, so that all together stay below `http.limits.maxUnsentSize`. Above that bound, the server would cut
 * off slow clients as if they read nothing.
 */
export class SendRoom {
  #free: number;

  /** @param bytes of all pieces together; each download may exceed it by one piece of the smallest size */
  constructor(bytes: number) {
    this.#free = bytes;
  }

  /** Returns the length of the next piece, at most `most`. The caller gives it back. */
  take(most: number): number {
    const bytes = Math.min(most, Math.max(LEAST_BYTES, Math.floor(this.#free / PART)));
    this.#free -= bytes;
    return bytes;
  }

  giveBack(bytes: number): void {
    this.#free += bytes;
  }
}

/** Of one read and one write: each read is a way to another thread and back. Smaller when many bodies are sent at once. */
export const PIECE_BYTES = 512 * 1024;
const BUFFERS = 2;

/** @property room of the listener; absent = there is enough */
export type BodyResponse = ServerResponse & { readonly room?: SendRoom | undefined };

/** Ends the answer. A failure of the body, or an abort, breaks it off; both are destroyed then. */
export async function sendBody(
  { body, direct }: Pick<OpenObject, 'body' | 'direct'>,
  response: BodyResponse,
  signal: AbortSignal,
): Promise<void> {
  if (!direct) return pipeline(body, response, { signal });
  try {
    await new DirectSending(response, signal).send(direct);
  } catch (error) {
    response.destroy();
    throw error;
  } finally {
    body.destroy();
  }
}

interface Piece {
  readonly buffer: Buffer;
  /** What of the buffer is used; as much was taken of the room. */
  readonly used: Buffer;
}

/**
 * Reads ahead into two buffers that take turns: one is filled while the socket takes the other. A socket mostly takes a piece at
 * once, while the thread waits. A read that begins only then, as a stream's does, has the disk and the network wait for each other,
 * and a large object takes a fifth longer. Memory that is used again leaves nothing for the collector.
 */
class DirectSending {
  readonly #sending: Sending;
  readonly #room: SendRoom;
  /** Taken of the room, and not given back. */
  #taken = 0;

  constructor(response: BodyResponse, signal: AbortSignal) {
    this.#sending = new Sending(response, signal);
    this.#room = response.room ?? new SendRoom(Number.MAX_SAFE_INTEGER);
  }

  async send({ bytes, fill }: DirectBody): Promise<void> {
    const fills: Promise<Piece>[] = [];
    let asked = 0;
    const askFor = (last?: Buffer): void => {
      const piece = this.#pieceOf(bytes - asked, last);
      const filled = fill(piece.used, asked).then(() => piece);
      // Told when its turn comes, unless the answer breaks off before.
      filled.catch(() => {});
      fills.push(filled);
      asked += piece.used.length;
    };
    const buffers: Buffer[] = [];
    try {
      while (fills.length < BUFFERS && asked < bytes) askFor();
      for (let next = fills.shift(); next; next = fills.shift()) {
        const { buffer, used } = await this.#sending.unlessBroken(next);
        await this.#sending.write(used);
        this.#giveBackRoom(used.length);
        if (asked < bytes) askFor(buffer);
        else buffers.push(buffer);
      }
      await this.#sending.end();
      // Not when it broke off: what is being read or written then is still in use.
      for (const buffer of buffers) giveBack(buffer);
    } finally {
      this.#giveBackRoom(this.#taken);
    }
  }

  /** @param last a buffer that is not in use, to be used again where its size does */
  #pieceOf(left: number, last: Buffer | undefined): Piece {
    const length = this.#room.take(Math.min(PIECE_BYTES, left));
    this.#taken += length;
    // At the end of a body the rest of a buffer is left alone.
    const does = last && last.length >= length && (length === left || last.length <= 2 * length);
    if (last && !does) giveBack(last);
    const buffer = last && does ? last : Buffer.allocUnsafeSlow(length);
    return { buffer, used: buffer.subarray(0, length) };
  }

  #giveBackRoom(bytes: number): void {
    this.#taken -= bytes;
    this.#room.giveBack(bytes);
  }
}
