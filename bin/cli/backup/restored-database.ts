// A database that is restored: what is in it, what of that is moved aside, and the mark that keeps processes from starting on a
// cache database that is not complete.

import { endBackupPauses } from '../../../engine/adapters/jobs/pauses-postgres.ts';
import { RESTORE_MARK } from '../../../engine/adapters/migrations/migrations.ts';
import { quoteIdentifier, type Sql } from '../../../engine/adapters/postgres/postgres.ts';
import { withConnection } from '../../../engine/adapters/postgres/single-connection.ts';
import { rejected } from '../../../engine/runtime/failure.ts';
import type { PlacedDatabase } from './database-dumps.ts';
import type { FoundDatabase } from './served-parts.ts';

/** Of a schema's name, so that the time fits behind it. */
const NAME_CHARACTERS = 28;

export class RestoredDatabase {
  readonly found: PlacedDatabase;
  readonly #filled: readonly string[];

  private constructor(found: PlacedDatabase, filled: readonly string[]) {
    this.found = found;
    this.#filled = filled;
  }

  /** Changes nothing. Refuses schemas with content unless forced. */
  static async look(found: PlacedDatabase, force: boolean, signal: AbortSignal): Promise<RestoredDatabase> {
    const schemas = found.uses.map(({ schema }) => schema);
    const filled = await withConnection(found.options, (sql) => filledSchemas(sql, schemas), signal);
    const { host, port, database } = found.options;
    if (filled.length > 0 && !force)
      throw rejected(
        `database ${database} at ${host}:${port} is not empty (schema ${filled.join(', ')}); --force moves what is in it aside`,
      );
    return new RestoredDatabase(found, filled);
  }

  /** Of the cache database: while it is marked, no process starts on it. */
  async mark(file: string, signal: AbortSignal): Promise<void> {
    const schema = quoteIdentifier(this.found.options.schema);
    await this.#run(async (sql) => {
      await sql.query(`create schema if not exists ${schema}`);
      await sql.query(`create table if not exists ${schema}.${RESTORE_MARK} (file text not null)`);
      await sql.query(`insert into ${schema}.${RESTORE_MARK} (file) values ($1)`, [file]);
    }, signal);
  }

  /** Renames the schemas that have content. Returns their new names. */
  async moveAside(time: string, signal: AbortSignal): Promise<readonly string[]> {
    const { options } = this.found;
    const moved: string[] = [];
    await this.#run(async (sql) => {
      for (const schema of this.#filled) {
        const aside = `${schema.slice(0, NAME_CHARACTERS)}_before_${time.replaceAll(/[^0-9A-Za-z]/g, '')}`;
        const [from, to] = [quoteIdentifier(schema), quoteIdentifier(aside)];
        await sql.query('begin');
        await sql.query(`alter schema ${from} rename to ${to}`);
        // The mark goes with the schema that it is in, so this one gets its own.
        const [marked] = await sql.query<{ there: boolean }>('select to_regclass($1) is not null as there', [
          `${to}.${RESTORE_MARK}`,
        ]);
        if (marked?.there) {
          await sql.query(`create schema ${from}`);
          await sql.query(`alter table ${to}.${RESTORE_MARK} set schema ${from}`);
        }
        await sql.query('commit');
        moved.push(`schema ${aside} of database ${options.database}`);
      }
    }, signal);
    return moved;
  }

  /** Those that are there now. A dump would make them, too. */
  emptySchemas(signal: AbortSignal): Promise<readonly string[]> {
    return this.#run(async (sql) => {
      const rows = await sql.query<{ name: string }>(
        'select nspname::text as name from pg_namespace where nspname = any($1::text[])',
        [this.found.uses.map(({ schema }) => schema)],
      );
      return rows.map(({ name }) => name);
    }, signal);
  }

  /** Of the cache database, when everything is at its place. The pauses of the backup are not part of the state. */
  async finish(signal: AbortSignal): Promise<void> {
    await this.#run(async (sql) => {
      await endBackupPauses(sql);
      await sql.query(`drop table ${quoteIdentifier(this.found.options.schema)}.${RESTORE_MARK}`);
    }, signal);
  }

  #run<Result>(work: (sql: Sql) => Promise<Result>, signal: AbortSignal): Promise<Result> {
    return withConnection(this.found.options, work, signal);
  }
}

/** Those with a table, view, sequence, function or type, apart from the mark. */
async function filledSchemas(sql: Sql, schemas: readonly string[]): Promise<readonly string[]> {
  const rows = await sql.query<{ name: string }>(
    `select nspname::text as name from pg_namespace n where nspname = any($1::text[])
       and (exists (select from pg_class c where c.relnamespace = n.oid and relname <> $2)
         or exists (select from pg_proc p where p.pronamespace = n.oid))
     order by 1`,
    [schemas, RESTORE_MARK],
  );
  return rows.map(({ name }) => name);
}

/** Processes of the program that are connected to a cache database. */
export async function aliveProcesses({ options }: FoundDatabase, signal: AbortSignal): Promise<number> {
  return await withConnection(
    options,
    async (sql) => {
      const [view] = await sql.query<{ there: boolean }>('select to_regclass($1) is not null as there', [
        `${quoteIdentifier(options.schema)}.alive_instance`,
      ]);
      if (!view?.there) return 0;
      const [row] = await sql.query<{ alive: number }>('select count(*)::integer as alive from alive_instance');
      return row?.alive ?? 0;
    },
    signal,
  );
}
