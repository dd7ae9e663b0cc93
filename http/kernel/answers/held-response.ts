// An answer that may be held until something else is safe: what is written goes out once a promise has settled.
//   free     writes go through; nobody holds it
//   armed    the first write asks, by its status, whether to wait
//   holding  writes are kept in order; a writer is told to wait, so that it keeps no more than one piece
//   free     again, after the promise settled: what was kept goes out
// Whoever writes notices nothing but the time.

import { type IncomingMessage, ServerResponse } from 'node:http';
import type { SendRoom } from './sending.ts';

/** What is to be waited for before an answer with this status goes out; undefined = nothing. It must not reject. */
export type BeforeAnswer = (status: number) => Promise<void> | undefined;

export class HeldResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /** Of its listener, for bodies. */
  room: SendRoom | undefined;
  #before: BeforeAnswer | undefined;
  /** In their order, while it is holding. */
  #kept: (() => void)[] | undefined;
  #writerWaits = false;
  #settled: Promise<void> | undefined;

  /** Asked once, when the answer begins. */
  hold(before: BeforeAnswer): void {
    this.#before = before;
  }

  /** What it is held for, if it is; resolves once what was kept is out. */
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
    // Those that were told to wait go on; where the socket is full, it tells them itself.
    if (this.#writerWaits && !this.writableNeedDrain && !this.destroyed) this.emit('drain');
  }
}
