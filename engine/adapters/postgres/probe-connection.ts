// Proves that a database server responds, on its own connection, because those of the pool may all be busy. The connection is
// kept, because a loaded server takes long to accept one. A response to any other statement is proof, too.
//   none   the next probe opens the connection
//   open   probes use it; an error, or a probe that takes too long, closes it

import { Socket } from 'node:net';
import pg from 'pg';
import { JoinedSignal } from '../../runtime/joined-signal.ts';
import { unlessAborted } from '../../runtime/wait.ts';

/** A connection that may not be established yet. */
export interface ProbeLine {
  /** Resolves when the server has answered. */
  ask(): Promise<unknown>;
  /** Does not wait for a server that is away. */
  close(): void;
}

interface ProbeConnectionOptions {
  /** `lost` is called when the connection breaks. */
  readonly open: (lost: () => void) => ProbeLine;
  /** Of an error: the server responds, and has no room for another connection. */
  readonly isFull: (error: unknown) => boolean;
}

/** Ends a probe, because the server has answered another statement. */
const RESPONDS = 'the server responds';

export class ProbeConnection implements Disposable {
  readonly #options: ProbeConnectionOptions;
  readonly #probes = new Set<JoinedSignal>();
  #line: ProbeLine | undefined;

  constructor(options: ProbeConnectionOptions) {
    this.#options = options;
  }

  /** Resolves when the server responds. Rejects with the error of the driver, or with the signal's reason. */
  async probe(signal: AbortSignal): Promise<void> {
    using until = new JoinedSignal(signal);
    this.#probes.add(until);
    try {
      await this.#ask(until.signal);
    } catch (error) {
      if (until.signal.reason !== RESPONDS && !this.#options.isFull(error)) throw error;
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

  async #askOn(line: ProbeLine, signal: AbortSignal): Promise<void> {
    try {
      await unlessAborted(line.ask(), signal);
    } catch (error) {
      if (signal.reason !== RESPONDS) this.#close(line);
      throw error;
    }
  }

  #open(): ProbeLine {
    const line = this.#options.open(() => this.#close(line));
    this.#line = line;
    return line;
  }

  #close(line: ProbeLine): void {
    if (this.#line === line) this.#line = undefined;
    line.close();
  }
}

/** A line to PostgreSQL. */
export function postgresLine(config: pg.ClientConfig, lost: () => void): ProbeLine {
  const socket = new Socket();
  const client = new pg.Client({ ...config, stream: () => socket });
  const connected = client.connect();
  connected.catch(() => undefined);
  client.on('error', lost);
  return {
    ask: async () => {
      await connected;
      return client.query('select 1');
    },
    close() {
      client.end().catch(() => undefined);
      if (socket.connecting) socket.destroy();
      else socket.destroySoon();
    },
  };
}
