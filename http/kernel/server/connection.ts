// One connection of a server, from its acceptance to its end.
//   opening   waits for the TLS handshake or for the head of its first request
//   busy      a request is being served; pipelined requests wait in order
//   resting   idle between two requests
// A connection moves as long as its client sends the announced body, and reads the response, at the minimum rate or faster.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A request and its response. */
export interface Exchanged {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Waiting extends Exchanged {
  readonly serve: () => void;
}

export interface MovingLimits {
  /** How long we wait for a client that does not send its body or read the response. Handlers may take longer. */
  readonly idleTimeoutMs: number;
  /** Bytes per second while we wait for the client. */
  readonly minTransferRate: number;
}

export class Connection {
  /** For TLS, the encrypted socket once the handshake is over. */
  socket: Socket;
  readonly acceptedAt: number;
  /** The address whose limit it counts against; undefined for a proxy. */
  readonly peer: string | undefined;
  /** When a check first found it idle. */
  idleSince: number | undefined;
  /** The current or last request; undefined before the first. */
  #latest: Exchanged | undefined;
  readonly #waiting: Waiting[] = [];
  /** Since when we have waited for the client, and the bytes moved by then. */
  #stall: { readonly at: number; readonly moved: number } | undefined;

  constructor(socket: Socket, peer: string | undefined, acceptedAt: number) {
    this.socket = socket;
    this.peer = peer;
    this.acceptedAt = acceptedAt;
  }

  get isOpening(): boolean {
    return this.#latest === undefined;
  }

  get isIdle(): boolean {
    return this.#latest?.response.closed === true;
  }

  get isBusy(): boolean {
    return this.#latest !== undefined && !this.#latest.response.closed;
  }

  /** Bytes of responses that the client has not read. */
  get unsent(): number {
    return this.socket.writableLength;
  }

  /** How long we have been waiting for the client, as of the last checks; 0 when we are not. */
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
   * @param serve called once all earlier responses are sent; never called if the connection ends before
   * @param mostWaiting if more requests wait, the connection is closed, because Node has already read them
   * @returns false when the connection was closed
   */
  take(exchanged: Exchanged, serve: () => void, mostWaiting: number): boolean {
    if (!this.isBusy) {
      this.idleSince = undefined;
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

  /** Must be called periodically. Returns false when the client is too slow to wait any longer. */
  moves(now: number, { idleTimeoutMs, minTransferRate }: MovingLimits): boolean {
    if (!this.waitsForClient) {
      this.#stall = undefined;
      return true;
    }
    const moved = this.socket.bytesRead + this.socket.bytesWritten - this.unsent;
    const enough = (minTransferRate * idleTimeoutMs) / 1000;
    if (!this.#stall || moved - this.#stall.moved >= enough) this.#stall = { at: now, moved };
    // Unsent bytes get extra time, because the system reports a write only when all of it has been sent.
    return now - this.#stall.at <= idleTimeoutMs + (this.unsent / minTransferRate) * 1000;
  }

  readonly #serveNext = (): void => {
    const next = this.#waiting.shift();
    // If the connection ended with the last response, the next one cannot be sent.
    if (!next?.response.socket || this.socket.destroyed) {
      this.#waiting.length = 0;
      return;
    }
    this.#latest = next;
    next.serve();
    if (this.#waiting.length > 0) next.response.once('close', this.#serveNext);
  };
}
