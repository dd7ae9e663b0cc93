// The connections of a server: how many there may be, which of them nobody uses, and what becomes of those. The platform's
// timers close those that rest or stand still. Those that move too little are found by looking at all of them once in a while.
//
// When there are as many as there may be, of one address or of all, a new one takes the place of one that is of little use:
// one that rests, one whose first request has not come, one whose client does not take its answer. Else it is closed.

import type { Socket } from 'node:net';
import type { Clock } from '../../../engine/runtime/time.ts';
import { Connection, type Exchanged, type MovingLimits } from './connection.ts';
import { peerOf } from './peer-address.ts';

export interface ConnectionLimits extends MovingLimits {
  readonly maxConnections: number;
  /** Of one address; proxies are left out. */
  readonly connectionsPerAddress: number;
  readonly keepAliveTimeoutMs: number;
  /** Requests of one connection that may wait for the one before them. */
  readonly maxPipelined: number;
  /** Bytes of answers, over all connections, that clients have not taken. */
  readonly maxUnsentSize: number;
}

/** Why a connection was closed before its time. */
export type CutReason = 'address' | 'full' | 'room' | 'pipelined' | 'slow' | 'unsent';

export interface ConnectionsOptions {
  readonly clock: Clock;
  readonly isProxy: (address: string) => boolean;
  readonly onCut: (reason: CutReason) => void;
}

const LONGEST_LOOK_MS = 1_000;
/** A client that does not take its answer for so long may lose its place. */
const STALLED_MS = 5_000;

export class Connections {
  readonly #all = new Set<Connection>();
  readonly #bySocket = new Map<Socket, Connection>();
  /** Of TLS, those in the handshake, by {@link endOf}. */
  readonly #handshakes = new Map<string, Connection>();
  readonly #byPeer = new Map<string, number>();
  readonly #limits: ConnectionLimits;
  readonly #options: ConnectionsOptions;
  readonly #lookMs: number;
  /** At the last look, and of what was answered since. */
  #unsent = 0;
  /** While there are any. */
  #cancel: (() => void) | undefined;

  constructor(limits: ConnectionLimits, options: ConnectionsOptions) {
    this.#limits = limits;
    this.#options = options;
    this.#lookMs = Math.max(1, Math.min(LONGEST_LOOK_MS, limits.idleTimeoutMs / 4));
  }

  /** Takes an accepted connection, or closes it. Of TLS, before the handshake: {@link secured} is called after it. */
  add(socket: Socket): void {
    const address = socket.remoteAddress;
    // It is gone already.
    if (address === undefined) return void socket.destroy();
    const { clock, isProxy, onCut } = this.#options;
    const peer = isProxy(address) ? undefined : peerOf(address);
    const refused = this.#refusal(peer);
    if (refused) {
      onCut(refused);
      socket.destroy();
      return;
    }
    const connection = new Connection(socket, peer, clock.now());
    const end = endOf(socket);
    this.#all.add(connection);
    this.#bySocket.set(socket, connection);
    this.#handshakes.set(end, connection);
    if (peer !== undefined) this.#byPeer.set(peer, this.#countOf(peer) + 1);
    socket.once('close', () => this.#remove(connection, socket, end));
    this.#cancel ??= clock.after(this.#lookMs, this.#look);
  }

  /** The handshake of a connection is over: from now on the socket is the one that carries requests. */
  secured(socket: Socket): void {
    const connection = this.#handshakes.get(endOf(socket));
    if (!connection) return void socket.destroy();
    connection.socket = socket;
    this.#bySocket.set(socket, connection);
    socket.once('close', () => this.#bySocket.delete(socket));
  }

  /** @param serve called once the answers before this one are sent; never when the connection ends first */
  arrived(exchanged: Exchanged, serve: () => void): void {
    const { socket } = exchanged.request;
    const connection = this.#bySocket.get(socket);
    // The platform goes on with what it has read of a connection that was closed meanwhile.
    if (!connection || socket.destroyed) return;
    if (!connection.take(exchanged, serve, this.#limits.maxPipelined)) this.#options.onCut('pipelined');
  }

  /** The handler of a request is done. What its client has not taken by then is kept for it. */
  answered(socket: Socket): void {
    this.#unsent += socket.writableLength;
    if (this.#unsent > this.#limits.maxUnsentSize) this.#cutUnsent();
  }

  /** Its handshake is over, and no request of it is served. */
  isFree(socket: Socket): boolean {
    return this.#bySocket.get(socket)?.isBusy === false;
  }

  /** The platform says that nothing moved for a while. Closes the connection if it is the client who is waited for. */
  stoodStill(socket: Socket): void {
    const connection = this.#bySocket.get(socket);
    if (connection?.isBusy && !connection.waitsForClient) socket.setTimeout(this.#limits.idleTimeoutMs);
    else socket.destroy();
  }

  /** Closes those that have no request under way. */
  closeUnused(): void {
    for (const connection of this.#all) if (!connection.isBusy) connection.socket.destroy();
  }

  closeAll(): void {
    for (const { socket } of this.#all) socket.destroy();
  }

  #countOf(peer: string): number {
    return this.#byPeer.get(peer) ?? 0;
  }

  /** Why there is no place; undefined when there is one, or when one was made. */
  #refusal(peer: string | undefined): CutReason | undefined {
    const { maxConnections, connectionsPerAddress } = this.#limits;
    if (peer !== undefined && this.#countOf(peer) >= connectionsPerAddress)
      return this.#makeRoom((connection) => connection.peer === peer) ? undefined : 'address';
    if (this.#all.size >= maxConnections) return this.#makeRoom(() => true) ? undefined : 'full';
    return undefined;
  }

  #makeRoom(among: (connection: Connection) => boolean): boolean {
    const now = this.#options.clock.now();
    let [least, leastUse]: [Connection | undefined, number] = [undefined, Number.POSITIVE_INFINITY];
    for (const connection of this.#all) {
      if (!among(connection)) continue;
      const use = useOf(connection, now);
      if (use < leastUse) [least, leastUse] = [connection, use];
    }
    if (!least) return false;
    this.#cut(least, 'room');
    return true;
  }

  /** Its place is free at once. */
  #cut(connection: Connection, reason: CutReason): void {
    this.#options.onCut(reason);
    this.#forget(connection);
    connection.socket.destroy();
  }

  /** Closes those that have taken nothing for longest, until what is kept for the others is little enough, or for one alone. */
  #cutUnsent(): void {
    const now = this.#options.clock.now();
    const kept = [...this.#all].filter(({ unsent }) => unsent > 0);
    this.#unsent = kept.reduce((sum, { unsent }) => sum + unsent, 0);
    if (this.#unsent <= this.#limits.maxUnsentSize) return;
    kept.sort((a, b) => b.stalledFor(now) - a.stalledFor(now) || b.unsent - a.unsent);
    for (const connection of kept.slice(0, -1)) {
      if (this.#unsent <= this.#limits.maxUnsentSize) return;
      this.#unsent -= connection.unsent;
      this.#cut(connection, 'unsent');
    }
  }

  #remove(connection: Connection, socket: Socket, end: string): void {
    this.#bySocket.delete(socket);
    if (this.#handshakes.get(end) === connection) this.#handshakes.delete(end);
    this.#forget(connection);
    if (this.#all.size > 0) return;
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #forget(connection: Connection): void {
    if (!this.#all.delete(connection) || connection.peer === undefined) return;
    const left = this.#countOf(connection.peer) - 1;
    if (left > 0) this.#byPeer.set(connection.peer, left);
    else this.#byPeer.delete(connection.peer);
  }

  readonly #look = (): void => {
    const { clock } = this.#options;
    this.#cancel = clock.after(this.#lookMs, this.#look);
    const now = clock.now();
    this.#unsent = 0;
    for (const connection of this.#all) {
      if (connection.isResting) connection.restsFrom ??= now;
      else if (!connection.moves(now, this.#limits)) this.#cut(connection, 'slow');
      this.#unsent += connection.unsent;
    }
    if (this.#unsent > this.#limits.maxUnsentSize) this.#cutUnsent();
  };
}

/** The lowest loses its place first, the longest idle of its kind before the others; infinite for what is in use. */
function useOf(connection: Connection, now: number): number {
  const ofKind = (kind: number, idleMs: number): number => kind + 1 / (1 + Math.max(0, idleMs));
  if (connection.isResting) return ofKind(0, now - (connection.restsFrom ?? now));
  if (connection.isOpening) return ofKind(2, now - connection.acceptedAt);
  const stalledMs = connection.stalledFor(now);
  return stalledMs >= STALLED_MS ? ofKind(4, stalledMs) : Number.POSITIVE_INFINITY;
}

/** The other end: the same for the socket of TLS and the one beneath it. */
const endOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
