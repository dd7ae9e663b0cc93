// One connection of a server, from its acceptance to its end.
//   opening   the TLS handshake, or the head of its first request, is still to come
//   busy      a request is served; those that came behind it wait, one after the other in their order
//   resting   between two requests
// It moves as long as its client takes what it is sent, and sends what it announced, at the least rate that is allowed.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A request and the answer to it. */
export interface Exchanged {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Waiting extends Exchanged {
  readonly serve: () => void;
}

export interface MovingLimits {
  /** A client that neither sends what it announced nor takes what it is sent. The work in between may last longer. */
  readonly idleTimeoutMs: number;
  /** Bytes per second, while the client is waited for. */
  readonly minTransferRate: number;
}

export class Connection {
  /** Of TLS, what is inside once the handshake is over. */
  socket: Socket;
  readonly acceptedAt: number;
  /** Who it counts for; undefined for a proxy. */
  readonly peer: string | undefined;
  /** When it was first seen to rest. */
  restsFrom: number | undefined;
  /** The request that is served, or was served last; none before the first. */
  #latest: Exchanged | undefined;
  readonly #waiting: Waiting[] = [];
  /** Since when the client is waited for, and what it had moved by then. */
  #stall: { readonly at: number; readonly moved: number } | undefined;

  constructor(socket: Socket, peer: string | undefined, acceptedAt: number) {
    this.socket = socket;
    this.peer = peer;
    this.acceptedAt = acceptedAt;
  }

  get isOpening(): boolean {
    return this.#latest === undefined;
  }

  get isResting(): boolean {
    return this.#latest?.response.closed === true;
  }

  get isBusy(): boolean {
    return this.#latest !== undefined && !this.#latest.response.closed;
  }

  /** Bytes of answers that its client has not taken. */
  get unsent(): number {
    return this.socket.writableLength;
  }

  /** For how long its client was waited for when it was last looked at; 0 when it is not. */
  stalledFor(now: number): number {
    return this.#stall && this.waitsForClient ? now - this.#stall.at : 0;
  }

  get waitsForClient(): boolean {
    if (!this.#latest) return false;
    const { request, response } = this.#latest;
    const readingBegan = request.readableFlowing !== null;
    const wantsMore = !request.complete && readingBegan && request.readableLength === 0;
    return wantsMore || (response.headersSent && this.unsent > 0);
  }

  /**
   * @param serve called once the answers before this one are sent; never when the connection ends first
   * @param mostWaiting more than these end the connection: what the platform has read cannot be given back
   * @returns false when it was ended
   */
  take(exchanged: Exchanged, serve: () => void, mostWaiting: number): boolean {
    if (!this.isBusy) {
      this.restsFrom = undefined;
      this.#latest = exchanged;
      serve();
      return true;
    }
    if (this.#waiting.length >= mostWaiting) {
      this.#waiting.length = 0;
      this.socket.destroy();
      return false;
    }
    this.#waiting.push({ ...exchanged, serve });
    if (this.#waiting.length === 1) this.#latest?.response.once('close', this.#serveNext);
    return true;
  }

  /** To be called again and again. False when the client moves too little to be waited for any longer. */
  moves(now: number, { idleTimeoutMs, minTransferRate }: MovingLimits): boolean {
    if (!this.waitsForClient) {
      this.#stall = undefined;
      return true;
    }
    const moved = this.socket.bytesRead + this.socket.bytesWritten - this.unsent;
    const enough = (minTransferRate * idleTimeoutMs) / 1000;
    if (!this.#stall || moved - this.#stall.moved >= enough) this.#stall = { at: now, moved };
    // Of what is being sent the system tells only when it has gone out as a whole.
    return now - this.#stall.at <= idleTimeoutMs + (this.unsent / minTransferRate) * 1000;
  }

  readonly #serveNext = (): void => {
    const next = this.#waiting.shift();
    // An answer that the connection ended with leaves the next one none to go out on.
    if (!next?.response.socket || this.socket.destroyed) {
      this.#waiting.length = 0;
      return;
    }
    this.#latest = next;
    next.serve();
    if (this.#waiting.length > 0) next.response.once('close', this.#serveNext);
  };
}
