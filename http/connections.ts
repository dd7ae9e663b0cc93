// The connections of a server: which of them nobody uses, and what becomes of those. By itself the platform sets a timer at
// the begin of every request and another at its end, which takes a fifth of the time of a small one. So all connections are
// looked at together, once in a while:
//   resting   between two requests: closed when it has rested for the time that its client was told, and a little longer
//   busy      a request is under way, or its first one is still to come: only now it gets the platform's timer for standing still
// One request of a connection is served at a time. Those that came in the same piece wait; too many end the connection, since
// what the platform has read cannot be given back.
// A time that is measured so is never shorter than it was set to: standing still is at most one look longer, resting two.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../engine/time.ts';

export interface IdleLimits {
  /** A client that neither sends what it announced nor takes what it is sent. The work in between may last longer. */
  readonly idleTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /** Requests of one connection that may wait for the one before them. */
  readonly maxPipelined: number;
}

/** The latest request of a connection, and the answer to it; none before the first. */
export interface Latest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Waiting extends Latest {
  readonly serve: () => void;
}

interface Connection {
  /** The request that is served, or was served last. */
  latest: Latest | undefined;
  /** Requests that came before the answer of the one that is served was sent: one after the other, in their order. */
  readonly waiting: Waiting[];
  /** What had come when it was first seen to rest, and when that was. */
  restsFrom: { readonly bytes: number; readonly at: number } | undefined;
  /** It has the platform's timer. */
  timed: boolean;
}

/** For a request that is on its way while the client is still allowed to send it. */
const GRACE_MS = 1_000;
const LONGEST_LOOK_MS = 1_000;

export class Connections {
  readonly #all = new Map<Socket, Connection>();
  readonly #limits: IdleLimits;
  readonly #clock: Clock;
  readonly #lookMs: number;
  /** While there are any. */
  #cancel: (() => void) | undefined;

  constructor(limits: IdleLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    const shortest = Math.min(limits.idleTimeoutMs, limits.keepAliveTimeoutMs);
    this.#lookMs = Math.max(1, Math.min(LONGEST_LOOK_MS, shortest / 4));
  }

  add(socket: Socket): void {
    this.#all.set(socket, { latest: undefined, waiting: [], restsFrom: undefined, timed: false });
    socket.once('close', () => this.#remove(socket));
    this.#cancel ??= this.#clock.after(this.#lookMs, this.#look);
  }

  /** @param serve called once the answers before this one are sent; never when the connection ends first */
  arrived(request: IncomingMessage, response: ServerResponse, serve: () => void): void {
    const { socket } = request;
    const connection = this.#all.get(socket);
    // The platform goes on with what it has read of a connection that was closed meanwhile.
    if (!connection || socket.destroyed) return;
    if (isUnderWay(connection)) this.#wait(connection, request, response, serve);
    else {
      connection.latest = { request, response };
      serve();
    }
  }

  /** A request of it is served. */
  isBusy(socket: Socket): boolean {
    const connection = this.#all.get(socket);
    return connection !== undefined && isUnderWay(connection);
  }

  /** The platform says that nothing moved for a while. Closes the connection if it is the client who is waited for. */
  stoodStill(socket: Socket): void {
    const latest = this.#all.get(socket)?.latest;
    if (!latest || latest.response.closed || waitsForClient(latest, socket)) socket.destroy();
    else socket.setTimeout(this.#limits.idleTimeoutMs);
  }

  /** Closes those that have no request under way. */
  closeUnused(): void {
    for (const [socket, connection] of this.#all) if (!isUnderWay(connection)) socket.destroy();
  }

  closeAll(): void {
    for (const socket of this.#all.keys()) socket.destroy();
  }

  #wait(connection: Connection, request: IncomingMessage, response: ServerResponse, serve: () => void): void {
    const { waiting, latest } = connection;
    if (waiting.length >= this.#limits.maxPipelined) {
      waiting.length = 0;
      request.socket.destroy();
      return;
    }
    waiting.push({ request, response, serve });
    if (waiting.length === 1) latest?.response.once('close', () => this.#serveNext(connection));
  }

  #serveNext(connection: Connection): void {
    const { waiting } = connection;
    const next = waiting.shift();
    // An answer that the connection ended with leaves the next one none to go out on.
    if (!next?.response.socket || next.request.socket.destroyed) {
      waiting.length = 0;
      return;
    }
    const { request, response, serve } = next;
    connection.latest = { request, response };
    serve();
    if (waiting.length > 0) response.once('close', () => this.#serveNext(connection));
  }

  #remove(socket: Socket): void {
    this.#all.delete(socket);
    if (this.#all.size > 0) return;
    this.#cancel?.();
    this.#cancel = undefined;
  }

  readonly #look = (): void => {
    this.#cancel = this.#clock.after(this.#lookMs, this.#look);
    const now = this.#clock.now();
    for (const [socket, connection] of this.#all)
      if (connection.latest?.response.closed) this.#rests(socket, connection, now);
      else this.#isBusy(socket, connection);
  };

  #rests(socket: Socket, connection: Connection, now: number): void {
    const { restsFrom } = connection;
    if (connection.timed) this.#setTimer(socket, connection, 0);
    // A request that came and was answered since the last look has brought bytes; so has the begin of one.
    if (restsFrom?.bytes !== socket.bytesRead) connection.restsFrom = { bytes: socket.bytesRead, at: now };
    else if (now - restsFrom.at >= this.#limits.keepAliveTimeoutMs + GRACE_MS) socket.destroy();
  }

  #isBusy(socket: Socket, connection: Connection): void {
    connection.restsFrom = undefined;
    if (!connection.timed) this.#setTimer(socket, connection, this.#limits.idleTimeoutMs);
  }

  #setTimer(socket: Socket, connection: Connection, ms: number): void {
    connection.timed = ms > 0;
    socket.setTimeout(ms);
  }
}

function isUnderWay({ latest }: Connection): boolean {
  return latest !== undefined && !latest.response.closed;
}

function waitsForClient({ request, response }: Latest, socket: Socket): boolean {
  const readingBegan = request.readableFlowing !== null;
  const wantsMore = !request.complete && readingBegan && request.readableLength === 0;
  return wantsMore || (response.headersSent && socket.writableLength > 0);
}
