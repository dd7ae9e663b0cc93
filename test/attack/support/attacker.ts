// Connections of somebody who does not follow the rules of HTTP: bytes out, and an answer that is read or left.

import { connect, type Socket } from 'node:net';

export interface Attacker {
  readonly socket: Socket;
  /** What was read of what came back. Nothing is read before {@link answered} is asked for. */
  got(): string;
  /** Resolves when the first bytes of an answer are there, unread, or the connection is closed. */
  readonly begun: Promise<void>;
  /** Reads to the end; resolves when the connection is closed. */
  readonly answered: Promise<void>;
  /** Resolves when the connection is closed, by whichever side. */
  readonly closed: Promise<void>;
}

interface Teardown {
  teardown(fn: () => unknown): void;
}

/** Connects from that address to where the URL leads; resolves when the system has connected, whether the server has accepted or not. */
export async function attacker(t: Teardown, url: string, from = '127.0.0.1'): Promise<Attacker> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), localAddress: from });
  t.teardown(() => socket.destroy());
  let text = '';
  const read = (): unknown =>
    socket.setEncoding('latin1').on('data', (piece: string) => {
      text += piece;
    });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => undefined);
  await Promise.race([new Promise<void>((resolve) => socket.once('connect', () => resolve())), closed]);
  return {
    socket,
    closed,
    got: () => text,
    get begun() {
      return Promise.race([new Promise<void>((resolve) => socket.once('readable', () => resolve())), closed]);
    },
    get answered() {
      read();
      return closed;
    },
  };
}
