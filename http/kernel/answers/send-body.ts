// Sends the body of an object as that of an answer. One that can be read into memory of ours is read ahead: two buffers take
// turns, and one is filled while the socket takes the other. A socket mostly takes a piece at once, while the thread waits: a
// read that begins only then, as a stream's does, has the disk and the network wait for each other, and a large object takes
// a fifth longer. Memory that is used again leaves nothing for the collector, which is slow to see what is outside its heap.

import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { DirectBody, OpenObject } from '../../../engine/ports/object-store.ts';
import { giveBack } from '../../../engine/runtime/give-back.ts';
import { SendRoom } from './send-room.ts';
import { Sending } from './sending.ts';

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
