// A physical backup of a running PostgreSQL server, by its low-level interface. It has all databases, including the tables of
// plugins. The caller copies the data directory between `begin` and `end`, then the WAL files that `end` names.
//
//   begun   the files may be copied while the server changes them
//   ended   the copy, with that WAL, has the state at the moment at which `end` was called
// A temporary replication slot makes the server keep the WAL. If the session dies, the server drops the slot and the backup.

import pg from 'pg';
import { rejected, transient } from '../../runtime/failure.ts';

/** A checkpoint under load takes seconds. */
const STATEMENT_MS = 120_000;
const SLOT = 'longshore_backup';
const WAL_FILE = /^[0-9A-F]{24}$/;
/** The first version in which the functions have their present names. */
const RENAMED = 150_000;

export interface EndedBackup {
  readonly instant: Date;
  /** Content of the file `backup_label`. */
  readonly label: string;
  /** Whether a file of `pg_wal` belongs to the backup. */
  isNeeded(walFile: string): boolean;
}

export class BaseBackup implements AsyncDisposable {
  readonly #client: pg.Client;
  readonly #isOld: boolean;
  readonly #stopListening: () => void;

  private constructor(client: pg.Client, isOld: boolean, stopListening: () => void) {
    this.#client = client;
    this.#isOld = isOld;
    this.#stopListening = stopListening;
  }

  /** @param server a superuser's connection */
  static async begin(
    server: { readonly port: number; readonly password: string },
    signal: AbortSignal,
  ): Promise<BaseBackup> {
    const client = new pg.Client({
      ...{ host: '127.0.0.1', user: 'postgres', database: 'postgres', application_name: 'longshore backup', ...server },
      ...{ connectionTimeoutMillis: 10_000, query_timeout: STATEMENT_MS },
    });
    client.on('error', () => undefined); // the current or the next call reports it
    const abort = (): void => void client.end().catch(() => undefined);
    signal.addEventListener('abort', abort, { once: true });
    try {
      await client.connect();
      const { rows } = await client.query<{ version: number }>(
        "select current_setting('server_version_num')::integer as version",
      );
      const isOld = (rows[0]?.version ?? 0) < RENAMED;
      await client.query('select pg_create_physical_replication_slot($1, true, true)', [SLOT]);
      await client.query(isOld ? 'select pg_start_backup($1, true, false)' : 'select pg_backup_start($1, true)', [
        'longshore',
      ]);
      return new BaseBackup(client, isOld, () => signal.removeEventListener('abort', abort));
    } catch (error) {
      await client.end().catch(() => undefined);
      throw postgresFault(error, signal);
    }
  }

  async end(signal: AbortSignal): Promise<EndedBackup> {
    const stop = this.#isOld ? 'pg_stop_backup(false, false)' : 'pg_backup_stop(false)';
    try {
      const { rows } = await this.#client.query<{ instant: Date; labelfile: string; spcmapfile: string; last: string }>(
        `select clock_timestamp() as instant, labelfile, spcmapfile, pg_walfile_name(lsn) as last from ${stop}`,
      );
      const [ended] = rows;
      const first = /\(file ([0-9A-F]{24})\)/.exec(ended?.labelfile ?? '')?.[1];
      if (!ended || !first) throw transient('PostgreSQL does not say where the backup begins');
      if (ended.spcmapfile.trim() !== '')
        throw rejected('the database server has tablespaces outside of its data directory; they cannot be backed up');
      const { instant, labelfile: label, last } = ended;
      return { instant, label, isNeeded: (name) => WAL_FILE.test(name) && name >= first && name <= last };
    } catch (error) {
      throw postgresFault(error, signal);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopListening();
    await this.#client.end().catch(() => undefined);
  }
}

/** Whether a path in the data directory must not be copied, or is useless in a copy. Empty folders are needed. */
export const isLeftOutOfBackup = (path: string): boolean =>
  LEFT_OUT.has(path) ||
  /^(?:pg_wal|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans)\/[^/]+/.test(path) ||
  /(?:^|\/)(?:pgsql_tmp[^/]*|pg_internal\.init[^/]*)$/.test(path);

const LEFT_OUT = new Set(['postmaster.pid', 'postmaster.opts', 'backup_label', 'tablespace_map', 'current_logfiles']);

const postgresFault = (error: unknown, signal: AbortSignal): unknown =>
  signal.aborted
    ? signal.reason
    : error instanceof pg.DatabaseError || (error instanceof Error && !('kind' in error))
      ? transient(`the database server: ${error.message}`, { cause: error })
      : error;
