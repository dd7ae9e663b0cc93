// The connections of a server and their limits. Node's timers close connections that are idle or make no progress. To find
// those that are too slow, we check all connections periodically.
//
// At the limit, in total or for one address, a new connection replaces an existing one. That may be an idle one, one whose
// first request has not arrived, or one whose client does not read its response. If there is none, the new connection is
// closed.

import type { Socket } from 'node:net';
import type { Clock } from '../../../engine/runtime/time.ts';
import { Connection, type Exchanged, type MovingLimits } from './connection.ts';
import { peerOf } from './peer-address.ts';

export interface ConnectionLimits extends MovingLimits {
  readonly maxConnections: number;
  /** Limit for one address. It does not apply to proxies. */
  readonly connectionsPerAddress: number;
  readonly keepAliveTimeoutMs: number;
  /** Most pipelined requests of one connection that may wait. */
  readonly maxPipelined: number;
  /** Most unsent bytes of responses, over all connections. */
  readonly maxUnsentSize: number;
}

/** Why the server closed a connection to keep a limit. */
export type CutReason = 'address' | 'full' | 'room' | 'pipelined' | 'slow' | 'unsent';

interface ConnectionsOptions {
  readonly clock: Clock;
  readonly isProxy: (address: string) => boolean;
  readonly onCut: (reason: CutReason) => void;
}

const LONGEST_LOOK_MS = 1_000;
/** A connection may be replaced when its client has been stalled for this long. */
const STALLED_MS = 5_000;

export class Connections {
  readonly #all = new Set<Connection>();
  readonly #bySocket = new Map<Socket, Connection>();
  /** TLS connections in the handshake, by {@link endOf}. */
  readonly #handshakes = new Map<string, Connection>();
  readonly #byPeer = new Map<string, number>();
  readonly #limits: ConnectionLimits;
  readonly #options: ConnectionsOptions;
  readonly #lookMs: number;
  /** Unsent bytes at the last check, plus those of the responses since then. */
  #unsent = 0;
  /** Cancels the next check; set while there are connections. */
  #cancel: (() => void) | undefined;

  constructor(limits: ConnectionLimits, options: ConnectionsOptions) {
    this.#limits = limits;
    this.#options = options;
    this.#lookMs = Math.max(1, Math.min(LONGEST_LOOK_MS, limits.idleTimeoutMs / 4));
  }

  /** Admits an accepted connection, or closes it. For TLS this is before the handshake; {@link secured} is called after it. */
  add(socket: Socket): void {
    const address = socket.remoteAddress;
    // The connection is already closed.
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

  /** Called after the TLS handshake: `socket` is the one that carries the requests. */
  secured(socket: Socket): void {
    const connection = this.#handshakes.get(endOf(socket));
    if (!connection) return void socket.destroy();
    connection.socket = socket;
    this.#bySocket.set(socket, connection);
    socket.once('close', () => this.#bySocket.delete(socket));
  }

  /** @param serve called once all earlier responses are sent; never called if the connection ends before */
  arrived(exchanged: Exchanged, serve: () => void): void {
    const { socket } = exchanged.request;
    const connection = this.#bySocket.get(socket);
    // Node still emits requests that it has read from a connection that is closed by now.
    if (!connection || socket.destroyed) return;
    if (!connection.take(exchanged, serve, this.#limits.maxPipelined)) this.#options.onCut('pipelined');
  }

  /** Called when the handler of a request is done. The unsent rest of its response is in memory. */
  answered(socket: Socket): void {
    this.#unsent += socket.writableLength;
    if (this.#unsent > this.#limits.maxUnsentSize) this.#cutUnsent();
  }

  /** True when the handshake is over and no request is being served. */
  isFree(socket: Socket): boolean {
    return this.#bySocket.get(socket)?.isBusy === false;
  }

  /** Called at the idle timeout. Closes the connection unless a request is being served that does not wait for the client. */
  onIdleTimeout(socket: Socket): void {
    const connection = this.#bySocket.get(socket);
    if (connection?.isBusy && !connection.waitsForClient) socket.setTimeout(this.#limits.idleTimeoutMs);
    else socket.destroy();
  }

  /** Closes connections without a request under way. */
  closeUnused(): void {
    for (const connection of this.#all) if (!connection.isBusy) connection.socket.destroy();
  }

  closeAll(): void {
    for (const { socket } of this.#all) socket.destroy();
  }

  #countOf(peer: string): number {
    return this.#byPeer.get(peer) ?? 0;
  }

  /** Why a connection is refused; undefined when there is a place, or when another connection was closed for it. */
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

  /** Closes the connection. Its place is free at once. */
  #cut(connection: Connection, reason: CutReason): void {
    this.#options.onCut(reason);
    this.#forget(connection);
    connection.socket.destroy();
  }

  /** Closes the longest-stalled connections, until the unsent bytes are within the limit or belong to one connection. */
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
      if (connection.isIdle) connection.idleSince ??= now;
      else if (!connection.moves(now, this.#limits)) this.#cut(connection, 'slow');
      this.#unsent += connection.unsent;
    }
    if (this.#unsent > this.#limits.maxUnsentSize) this.#cutUnsent();
  };
}

/** The connection with the lowest value is replaced first: by kind, then the longest idle one. Infinity if it is in use. */
function useOf(connection: Connection, now: number): number {
  const ofKind = (kind: number, idleMs: number): number => kind + 1 / (1 + Math.max(0, idleMs));
  if (connection.isIdle) return ofKind(0, now - (connection.idleSince ?? now));
  if (connection.isOpening) return ofKind(2, now - connection.acceptedAt);
  const stalledMs = connection.stalledFor(now);
  return stalledMs >= STALLED_MS ? ofKind(4, stalledMs) : Number.POSITIVE_INFINITY;
}

/** The peer's address and port, which are the same for a TLS socket and the socket under it. */
const endOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
