// A snapshot of one database that other sessions can read, such as those of pg_dump:
//
//   opened   connected; nothing is seen yet
//   taken    the snapshot is that of this moment. It lives as long as this session
// While it lives, the server keeps old versions of rows, so end it soon.

import pg from 'pg';
import { connectionConfig, type PostgresOptions, postgresFailure } from './postgres.ts';

export interface TakenSnapshot {
  /** What other sessions name it by. */
  readonly name: string;
  readonly instant: Date;
}

export class ExportedSnapshot implements AsyncDisposable {
  readonly #client: pg.Client;
  readonly #where: string;
  readonly #stopListening: () => void;

  private constructor(client: pg.Client, where: string, stopListening: () => void) {
    this.#client = client;
    this.#where = where;
    this.#stopListening = stopListening;
  }

  /** The signal ends the session. */
  static async open(options: PostgresOptions, signal: AbortSignal): Promise<ExportedSnapshot> {
    signal.throwIfAborted();
    const client = new pg.Client(connectionConfig(options));
    const where = `database ${options.database} at ${options.host}:${options.port}`;
    client.on('error', () => undefined); // told by whoever uses the snapshot next
    const abort = (): void => void client.end().catch(() => undefined);
    signal.addEventListener('abort', abort, { once: true });
    try {
      await client.connect();
      // A transaction sees nothing before its first statement, so that statement is the moment.
      await client.query(`set statement_timeout = 0; set idle_in_transaction_session_timeout = 0;
        begin transaction isolation level repeatable read read only`);
      return new ExportedSnapshot(client, where, () => signal.removeEventListener('abort', abort));
    } catch (error) {
      signal.removeEventListener('abort', abort);
      await client.end().catch(() => undefined);
      throw signal.aborted ? signal.reason : postgresFailure(error, where);
    }
  }

  async take(): Promise<TakenSnapshot> {
    try {
      const { rows } = await this.#client.query<TakenSnapshot>(
        'select pg_export_snapshot() as name, clock_timestamp() as instant',
      );
      return rows[0] as TakenSnapshot;
    } catch (error) {
      throw postgresFailure(error, this.#where);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopListening();
    await this.#client.end().catch(() => undefined);
  }
}
