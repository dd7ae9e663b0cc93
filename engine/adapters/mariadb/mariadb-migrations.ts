// Migrations of schemas on MariaDB. There, each statement that changes a table is its own transaction. A file that was
// interrupted is applied again from its beginning, so its statements must be repeatable (`if not exists`).

import { transient } from '../../runtime/failure.ts';
import {
  checksums,
  compared,
  type Migration,
  type MigrationState,
  newerSchema,
  otherChecksum,
} from '../migrations/migrations.ts';
import type { Sql } from '../postgres/postgres.ts';
import { type MariaDbOptions, quoteName, withMariaDb } from './mariadb.ts';

/** Processes that start at the same time take turns. Names of locks are those of the whole server. */
const LOCK = 'longshore.migrations';
const LOCK_SECONDS = 50;
/** A statement ends with a line that ends with a semicolon. */
const END = /;[ \t]*$/m;

type Row = { readonly number: number; readonly checksum: string };

/** Like `migrateWithProgress` of PostgreSQL. The schema is created if it is missing. */
export function migrateMariaDb(
  options: MariaDbOptions,
  migrations: readonly Migration[],
  tell: (applied: number) => void,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const { schema } = options;
  // The lock ends with the connection.
  return withMariaDb(options, (sql) => migrateLocked(sql, schema, migrations, tell, signal), signal);
}

async function migrateLocked(
  sql: Sql,
  schema: string,
  migrations: readonly Migration[],
  tell: (applied: number) => void,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const [lock] = await sql.query<{ held: number }>('select get_lock(?, ?) as held', [LOCK, LOCK_SECONDS]);
  if (lock?.held !== 1) throw transient(`another process has been migrating schemas for ${LOCK_SECONDS} s`);
  // A change of a large table takes as long as it takes.
  await sql.query('set session max_statement_time = 0');
  if (!(await exists(sql, schema, 'schemata'))) await sql.query(`create database ${quoteName(schema)}`);
  await sql.query(`use ${quoteName(schema)}`);
  await sql.query(`create table if not exists migration (number int primary key, name text not null,
    checksum text not null, applied datetime(6) not null default utc_timestamp(6)) collate utf8mb4_bin`);
  const known = new Map((await rowsOf(sql, schema)).map(({ number, checksum }) => [number, checksum]));
  const sums = checksums(migrations);
  const applied: number[] = [];
  for (const [before, migration] of migrations.entries()) {
    const { number, name } = migration;
    if (known.has(number) && known.get(number) !== sums.get(number)) throw otherChecksum(schema, migration);
    if (!known.has(number)) {
      for (const text of statements(migration.sql)) {
        signal.throwIfAborted();
        await sql.query(text);
      }
      const values = [number, name, sums.get(number)];
      await sql.query('insert into migration (number, name, checksum) values (?, ?, ?)', values);
      applied.push(number);
    }
    tell(before + 1);
  }
  const newest = Math.max(0, ...known.keys());
  if (newest > migrations.length) throw newerSchema(schema, newest, migrations);
  return applied;
}

/** Compares the schema with the program. Changes nothing. */
export async function mariaDbMigrationState(
  sql: Sql,
  schema: string,
  migrations: readonly Migration[],
): Promise<MigrationState> {
  const there = await exists(sql, schema, 'tables');
  return compared(there ? await rowsOf(sql, schema) : [], migrations);
}

const rowsOf = (sql: Sql, schema: string): Promise<Row[]> =>
  sql.query<Row>(`select number, checksum from ${quoteName(schema)}.migration order by number`);

/** Whether the schema is there, or its table of migrations. */
async function exists(sql: Sql, schema: string, what: 'schemata' | 'tables'): Promise<boolean> {
  const text =
    what === 'schemata'
      ? 'select 1 from information_schema.schemata where schema_name = ?'
      : "select 1 from information_schema.tables where table_schema = ? and table_name = 'migration'";
  return (await sql.query(text, [schema])).length > 0;
}

const statements = (file: string): readonly string[] =>
  file.split(END).filter((text) => text.replaceAll(/^\s*--.*$/gm, '').trim() !== '');
