// Sends responses in pieces, in bounded memory: generated text, and bodies of objects.

import type { ServerResponse } from 'node:http';
import { finished, pipeline } from 'node:stream/promises';
import type { DirectBody, OpenObject } from '../../../engine/ports/object-store.ts';
import { giveBack } from '../../../engine/runtime/give-back.ts';

/** Sends pieces. When the socket has accepted a piece, its memory belongs to the caller again. */
class Sending {
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
      // The client has disconnected. Report it like any response that closes too early.
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
 * Sends all pieces and ends the response. A failure of the pieces or an abort destroys the response. Each piece is encoded
 * once. When the socket has accepted it, its memory is freed at once instead of by the garbage collector, and the next is
 * requested.
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

/** Smallest piece. */
const LEAST_BYTES = 8 * 1024;
/** A piece takes at most this fraction of what is left. */
const PART = 8;

/**
 * Bounds the memory for bodies that a listener sends. A single download uses pieces of full size. When many run at once, each
 * takes a fraction of what is left, so that all together stay below `http.limits.maxUnsentSize`. Above that bound, the server
 * would cut off slow clients as if they read nothing.
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

/** Bytes of a read and a write. Large, because each read goes to another thread and back. Smaller when many bodies are sent. */
export const PIECE_BYTES = 512 * 1024;
const BUFFERS = 2;

/** @property room of the listener; absent = there is enough */
type BodyResponse = ServerResponse & { readonly room?: SendRoom | undefined };

/** Sends the body and ends the response. A failure of the body or an abort destroys both. */
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
  /** The used part of the buffer. The same number of bytes was taken from the room. */
  readonly used: Buffer;
}

/**
 * Reads ahead into two buffers: one is filled while the other is written to the socket. A stream begins the next read only
 * after the write. Disk and network would wait for each other, and a large object would take a fifth longer. Reusing the
 * buffers leaves nothing for the garbage collector.
 */
class DirectSending {
  readonly #sending: Sending;
  readonly #room: SendRoom;
  /** Bytes taken from the room and not yet given back. */
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
      // The failure is reported when this piece is due, unless the response ends before.
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
      // Not after a failure: a buffer that is being read or written is still in use.
      for (const buffer of buffers) giveBack(buffer);
    } finally {
      this.#giveBackRoom(this.#taken);
    }
  }

  /** @param last an unused buffer, reused if its size is suitable */
  #pieceOf(left: number, last: Buffer | undefined): Piece {
    const length = this.#room.take(Math.min(PIECE_BYTES, left));
    this.#taken += length;
    // The last piece of a body may leave the rest of a buffer unused.
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
