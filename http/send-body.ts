// Sends the body of an object as that of an answer. Where each chunk is memory of its own, it is given back as soon as the
// socket has taken it: chunks may then be large, which takes a fraction of the time, and still nothing piles up for the
// collector, which is slow to see memory outside its heap.

import type { ServerResponse } from 'node:http';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { giveBack } from '../engine/give-back.ts';
import type { OpenObject } from '../engine/ports/object-store.ts';

/** Ends the answer. A failure of the body, or an abort, breaks it off; both are destroyed then. */
export async function sendBody(
  { body, ownChunks }: Pick<OpenObject, 'body' | 'ownChunks'>,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  await pipeline(body, ownChunks ? new Sending(response) : response, { signal });
}

class Sending extends Writable {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    // One chunk at a time; the body reads the next one meanwhile.
    super({ highWaterMark: 1 });
    this.#response = response;
    response.once('close', () => {
      if (!response.writableFinished) this.destroy();
    });
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#response.write(chunk, (error) => {
      giveBack(chunk);
      // Nobody reads on, which is told like any answer that closed too soon.
      if (error) this.destroy();
      else done();
    });
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#response.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.#response.writableFinished) this.#response.destroy(error ?? undefined);
    done(error);
  }
}
