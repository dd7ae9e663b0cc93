// The body of an S3 response as a stream. If the response ends early, stalls or is aborted, the stream fails with the reason.
// A slow reader does not cause a timeout: the deadline runs only while we wait for the store.

import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { transient } from '../../runtime/failure.ts';
import type { Clock } from '../../runtime/time.ts';
import { s3Fault } from './s3-fault.ts';

export interface S3BodyOptions {
  readonly what: string;
  /** Longest time without data from the store. */
  readonly idleMs: number;
  readonly clock: Clock;
}

/** Bytes to read ahead. */
const HELD_BYTES = 256 * 1024;

export class S3Body extends Readable {
  readonly #response: IncomingMessage;
  readonly #options: S3BodyOptions;
  readonly #signal: AbortSignal;
  #endWait = (): void => {};

  constructor(response: IncomingMessage, options: S3BodyOptions, signal: AbortSignal) {
    super({ highWaterMark: HELD_BYTES });
    this.#response = response;
    this.#options = options;
    this.#signal = signal;
    // Without a listener, an abort before the first read would crash the process. Later readers still get the error.
    this.on('error', () => {});
    signal.addEventListener('abort', this.#abort, { once: true });
    response.on('error', (error) => this.#cutOff(error));
    response.once('close', () => {
      if (!response.readableEnded) this.#cutOff(new Error('closed before its end'));
    });
    response.on('data', (chunk: Buffer) => {
      this.#endWait();
      if (this.push(chunk)) this.#wait();
      else response.pause();
    });
    response.once('end', () => {
      this.#endWait();
      this.push(null);
    });
    response.pause();
    if (signal.aborted) this.#abort();
    else if (response.destroyed) this.#cutOff(new Error('closed before its end'));
  }

  override _read(): void {
    if (this.#response.readableEnded) return;
    this.#wait();
    this.#response.resume();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#endWait();
    this.#signal.removeEventListener('abort', this.#abort);
    // If the response was read to its end, the connection can be reused. Otherwise we close it.
    if (!this.#response.readableEnded) this.#response.destroy();
    done(error);
  }

  readonly #abort = (): void => {
    const { reason } = this.#signal;
    this.destroy(reason instanceof Error ? reason : new Error(String(reason)));
  };

  #cutOff(error: Error): void {
    const cause = 'code' in error ? error : Object.assign(error, { code: 'ERR_STREAM_PREMATURE_CLOSE' });
    this.destroy(s3Fault(cause, this.#options.what, undefined) as Error);
  }

  #wait(): void {
    this.#endWait();
    const { clock, idleMs, what } = this.#options;
    this.#endWait = clock.after(idleMs, () =>
      this.destroy(
        transient(`${what}: the store sent nothing for ${idleMs} ms`, { unreachable: true, unanswered: true }),
      ),
    );
  }
}
