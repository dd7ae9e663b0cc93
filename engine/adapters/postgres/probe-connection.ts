// Proves that a PostgreSQL server responds, on its own connection, because those of the pool may all be busy. The connection is
// kept, because a loaded server takes long to accept one. A response to any other statement is proof, too.
//   none   the next probe opens the connection
//   open   probes use it; an error, or a probe that takes too long, closes it

import { Socket } from 'node:net';
import pg from 'pg';
import { JoinedSignal } from '../../runtime/joined-signal.ts';
import { unlessAborted } from '../../runtime/wait.ts';
import { sqlState } from './postgres.ts';

interface OpenConnection {
  readonly client: pg.Client;
  readonly socket: Socket;
  readonly connected: Promise<unknown>;
}

/** SQLSTATE: the server responds, and has no room for another connection. */
const TOO_MANY_CONNECTIONS = '53300';
/** Ends a probe, because the server has answered another statement. */
const RESPONDS = 'the server responds';

export class ProbeConnection implements Disposable {
  readonly #config: pg.ClientConfig;
  readonly #probes = new Set<JoinedSignal>();
  #connection: OpenConnection | undefined;

  constructor(config: pg.ClientConfig) {
    this.#config = config;
  }

  /** Resolves when the server responds. Rejects with the error of the driver, or with the signal's reason. */
  async probe(signal: AbortSignal): Promise<void> {
    using until = new JoinedSignal(signal);
    this.#probes.add(until);
    try {
      await this.#ask(until.signal);
    } catch (error) {
      if (until.signal.reason !== RESPONDS && sqlState(error) !== TOO_MANY_CONNECTIONS) throw error;
    } finally {
      this.#probes.delete(until);
    }
  }

  /** The server has answered a statement on another connection. */
  answered(): void {
    for (const probe of this.#probes) probe.abort(RESPONDS);
  }

  [Symbol.dispose](): void {
    if (this.#connection) this.#close(this.#connection);
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const kept = this.#connection;
    if (kept)
      try {
        return await this.#askOn(kept, signal);
      } catch (error) {
        if (signal.aborted) throw error;
        // The server may have been restarted since.
      }
    await this.#askOn(this.#connection ?? this.#open(), signal);
  }

  async #askOn(connection: OpenConnection, signal: AbortSignal): Promise<void> {
    try {
      await unlessAborted(
        connection.connected.then(() => connection.client.query('select 1')),
        signal,
      );
    } catch (error) {
      if (signal.reason !== RESPONDS) this.#close(connection);
      throw error;
    }
  }

  #open(): OpenConnection {
    const socket = new Socket();
    const client = new pg.Client({ ...this.#config, stream: () => socket });
    const connection = { client, socket, connected: client.connect() };
    connection.connected.catch(() => undefined);
    client.on('error', () => this.#close(connection));
    this.#connection = connection;
    return connection;
  }

  #close(connection: OpenConnection): void {
    if (this.#connection === connection) this.#connection = undefined;
    connection.client.end().catch(() => undefined);
    // Neither waits for a server that is away.
    if (connection.socket.connecting) connection.socket.destroy();
    else connection.socket.destroySoon();
  }
}
