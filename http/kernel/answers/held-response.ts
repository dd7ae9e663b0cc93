// A response that can be held back until a promise has settled.
//   free     writes go through
//   armed    the first write asks, with the status, whether to wait
//   holding  writes are buffered in order; `write` returns false, so that a writer waits after its first piece
//   free     again, after the promise has settled: the buffered writes are sent
// Writers notice only the delay.

import { type IncomingMessage, ServerResponse } from 'node:http';
import type { SendRoom } from './sending.ts';

/** The promise to wait for before a response with this status is sent; undefined = none. It must not reject. */
type BeforeAnswer = (status: number) => Promise<void> | undefined;

export class HeldResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /** The listener's memory bound for bodies. */
  room: SendRoom | undefined;
  #before: BeforeAnswer | undefined;
  /** The buffered writes in order; set while holding. */
  #kept: (() => void)[] | undefined;
  #writerWaits = false;
  #settled: Promise<void> | undefined;

  /** `before` is called once, when the response begins. */
  hold(before: BeforeAnswer): void {
    this.#before = before;
  }

  /** While holding, resolves once the buffered writes are sent; undefined otherwise. */
  get settled(): Promise<void> | undefined {
    return this.#kept && this.#settled;
  }

  override write(...args: unknown[]): boolean {
    const write = (): boolean => super.write(...(args as Parameters<ServerResponse['write']>));
    if (!this.#isHeld()) return write();
    this.#writerWaits = true;
    this.#kept?.push(write);
    return false;
  }

  override end(...args: unknown[]): this {
    const end = (): this => super.end(...(args as Parameters<ServerResponse['end']>));
    if (!this.#isHeld()) return end();
    this.#kept?.push(end);
    return this;
  }

  override flushHeaders(): void {
    if (this.#isHeld()) this.#kept?.push(() => super.flushHeaders());
    else super.flushHeaders();
  }

  #isHeld(): boolean {
    if (this.#kept) return true;
    const before = this.#before;
    if (!before) return false;
    this.#before = undefined;
    const waited = before(this.statusCode);
    if (!waited) return false;
    this.#kept = [];
    this.#settled = waited.then(() => this.#release());
    return true;
  }

  #release(): void {
    const kept = this.#kept ?? [];
    this.#kept = undefined;
    for (const go of kept) go();
    // Lets the waiting writers continue. If the socket is full, the response emits `drain` itself later.
    if (this.#writerWaits && !this.writableNeedDrain && !this.destroyed) this.emit('drain');
  }
}
