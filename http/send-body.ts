// Sends the body of an object as that of an answer. One that can be read into memory of ours is read ahead: two buffers take
// turns, and one is filled while the socket takes the other. A socket mostly takes a piece at once, while the thread waits: a
// read that begins only then, as a stream's does, has the disk and the network wait for each other, and a large object takes
// a fifth longer. Memory that is used again leaves nothing for the collector, which is slow to see what is outside its heap.

import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { giveBack } from '../engine/give-back.ts';
import type { DirectBody, OpenObject } from '../engine/ports/object-store.ts';
import { Sending } from './sending.ts';

/** Of one read and one write: each read is a way to another thread and back. */
export const PIECE_BYTES = 512 * 1024;
const BUFFERS = 2;

/** Ends the answer. A failure of the body, or an abort, breaks it off; both are destroyed then. */
export async function sendBody(
  { body, direct }: Pick<OpenObject, 'body' | 'direct'>,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  if (!direct) return pipeline(body, response, { signal });
  try {
    await sendDirect(direct, new Sending(response, signal));
  } catch (error) {
    response.destroy();
    throw error;
  } finally {
    body.destroy();
  }
}

async function sendDirect({ bytes, fill }: DirectBody, sending: Sending): Promise<void> {
  const buffers: Buffer[] = [];
  const fills: Promise<Buffer>[] = [];
  let asked = 0;
  const askFor = (piece: Buffer): void => {
    const filled = fill(piece, asked).then(() => piece);
    // Told when its turn comes, unless the answer breaks off before.
    filled.catch(() => {});
    fills.push(filled);
    asked += piece.length;
  };
  while (buffers.length < BUFFERS && asked < bytes) {
    const buffer = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, bytes - asked));
    buffers.push(buffer);
    askFor(buffer);
  }
  for (let next = fills.shift(); next; next = fills.shift()) {
    const piece = await sending.unlessBroken(next);
    await sending.write(piece);
    // Only the last pieces are shorter than their buffer.
    if (asked < bytes) askFor(piece.subarray(0, bytes - asked));
  }
  await sending.end();
  // Not when it broke off: what is being read or written then is still in use.
  for (const buffer of buffers) giveBack(buffer);
}
