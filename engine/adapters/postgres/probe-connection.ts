// Proves that a PostgreSQL server responds, on a connection of its own: those of the pool may all be busy. It is kept, because
// a loaded server takes long to accept one. Other statements are proof, too.
//   none   the next probe opens it     open   probes ask on it; an error, or a probe that takes too long, closes it

import { Socket } from 'node:net';
import pg from 'pg';
import { JoinedSignal } from '../../runtime/joined-signal.ts';
import { unlessAborted } from '../../runtime/wait.ts';
import { sqlState } from './postgres.ts';

interface Line {
  readonly client: pg.Client;
  readonly socket: Socket;
  readonly connected: Promise<unknown>;
}

/** SQLSTATE: the server responds, and has no room for another connection. */
const TOO_MANY_CONNECTIONS = '53300';
/** Ends a probe: the server has answered somebody else. */
const RESPONDS = 'the server responds';

export class ProbeConnection implements Disposable {
  readonly #config: pg.ClientConfig;
  readonly #probes = new Set<JoinedSignal>();
  #line: Line | undefined;

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
    if (this.#line) this.#close(this.#line);
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const kept = this.#line;
    if (kept)
      try {
        return await this.#askOn(kept, signal);
      } catch (error) {
        if (signal.aborted) throw error;
        // The server may have been restarted since.
      }
    await this.#askOn(this.#line ?? this.#open(), signal);
  }

  async #askOn(line: Line, signal: AbortSignal): Promise<void> {
    try {
      await unlessAborted(
        line.connected.then(() => line.client.query('select 1')),
        signal,
      );
    } catch (error) {
      if (signal.reason !== RESPONDS) this.#close(line);
      throw error;
    }
  }

  #open(): Line {
    const socket = new Socket();
    const client = new pg.Client({ ...this.#config, stream: () => socket });
    const line = { client, socket, connected: client.connect() };
    line.connected.catch(() => undefined);
    client.on('error', () => this.#close(line));
    this.#line = line;
    return line;
  }

  #close(line: Line): void {
    if (this.#line === line) this.#line = undefined;
    line.client.end().catch(() => undefined);
    // Neither waits for a server that is away.
    if (line.socket.connecting) line.socket.destroy();
    else line.socket.destroySoon();
  }
}
