// Applies numbered SQL files: each once, in its own transaction, under an advisory lock. Their checksums are stored.

import { createHash } from 'node:crypto';
import { defect, type Failure, rejected } from '../../runtime/failure.ts';
import { programFolder, type TextFolder } from '../../runtime/program-files.ts';
import { type Postgres, quoteIdentifier, type Sql } from '../postgres/postgres.ts';

export interface Migration {
  /** From 1, without gaps. */
  readonly number: number;
  readonly name: string;
  readonly sql: string;
}

/** Numbers of migrations, by how schema and program differ. All lists are empty when the schema is up to date. */
export interface MigrationState {
  /** Not applied yet; {@link migrate} would apply them. */
  readonly missing: readonly number[];
  /** Applied with another checksum: the schema was created by an unreleased version. */
  readonly changed: readonly number[];
  /** Applied by a newer program. */
  readonly unknown: readonly number[];
}

/** An arbitrary number, the same in every process, so that two processes that start at the same time take turns. */
const LOCK = 7_305_001;

/** A table of a schema that `longshore restore` has not filled completely. */
export const RESTORE_MARK = 'restore_not_ended';

/**
 * Brings a schema up to date and returns the numbers applied by this call. `schema` must be a checked identifier. Names in the
 * files are unqualified: the search path is the schema. Released files never change, so a schema whose checksums differ was
 * created by an unreleased version and is refused. A schema that is newer than this program is refused, too.
 */
export function migrate(
  db: Postgres,
  schema: string,
  migrations: readonly Migration[],
  signal: AbortSignal,
): Promise<readonly number[]> {
  return migrateWithProgress(db, schema, migrations, () => {}, signal);
}

/** Like {@link migrate}. After each migration it calls `tell` with the number applied so far, including earlier runs. */
export async function migrateWithProgress(
  db: Postgres,
  schema: string,
  migrations: readonly Migration[],
  tell: (applied: number) => void,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const quoted = quoteIdentifier(schema);
  const sums = checksums(migrations);
  const applied: number[] = [];
  const begin = async (sql: Sql): Promise<void> => {
    await sql.query('select pg_advisory_xact_lock($1)', [LOCK]);
    await sql.query(`create schema if not exists ${quoted}`);
    const [mark] = await sql.query<{ there: boolean }>('select to_regclass($1) is not null as there', [
      `${quoted}.${RESTORE_MARK}`,
    ]);
    if (mark?.there)
      throw rejected(
        `schema ${schema} is incomplete: 'longshore restore' was interrupted or has failed; run it again with --force`,
      );
    await sql.query(`create table if not exists ${quoted}.migration (
      number integer primary key, name text not null, checksum text not null, applied timestamptz not null default now())`);
  };
  // A migration of a large schema takes as long as it takes, and so does the wait for another process that applies one.
  const long = { isLong: true };
  await db.transaction(begin, signal, long);
  for (const [before, migration] of migrations.entries()) {
    const apply = async (sql: Sql): Promise<void> => {
      await sql.query('select pg_advisory_xact_lock($1)', [LOCK]);
      const [known] = await sql.query<{ checksum: string }>(
        `select checksum from ${quoted}.migration where number = $1`,
        [migration.number],
      );
      if (known) {
        if (known.checksum !== sums.get(migration.number)) throw otherChecksum(schema, migration);
        return;
      }
      await sql.query("select set_config('search_path', $1, true)", [quoted]);
      await sql.query(migration.sql);
      await sql.query(`insert into ${quoted}.migration (number, name, checksum) values ($1, $2, $3)`, [
        migration.number,
        migration.name,
        sums.get(migration.number),
      ]);
      applied.push(migration.number);
    };
    await db.transaction(apply, signal, long);
    tell(before + 1);
  }
  const [newest] = await db.query<{ number: number | null }>(`select max(number) as number from ${quoted}.migration`);
  if ((newest?.number ?? 0) > migrations.length) throw newerSchema(schema, newest?.number ?? 0, migrations);
  return applied;
}

/** Of a schema that an unreleased version created. */
export const otherChecksum = (schema: string, { number, name }: Migration): Failure =>
  rejected(
    `schema ${schema} was made by an unreleased version of this program: its migration ${number} differs from '${name}' here. Use that version, or start with an empty schema, see config/deploy/UPGRADING.md`,
  );

export const newerSchema = (schema: string, newest: number, migrations: readonly Migration[]): Failure =>
  rejected(`schema ${schema} has migration ${newest}; this program knows ${migrations.length}`);

/** Compares the schema with the program. Changes nothing. */
export async function migrationState(
  sql: Sql,
  schema: string,
  migrations: readonly Migration[],
): Promise<MigrationState> {
  const table = `${quoteIdentifier(schema)}.migration`;
  const [found] = await sql.query<{ there: boolean }>('select to_regclass($1) is not null as there', [table]);
  const rows = found?.there
    ? await sql.query<{ number: number; checksum: string }>(`select number, checksum from ${table} order by number`)
    : [];
  return compared(rows, migrations);
}

/** @param rows of the table `migration`, by number */
export function compared(
  rows: readonly { readonly number: number; readonly checksum: string }[],
  migrations: readonly Migration[],
): MigrationState {
  const applied = new Map(rows.map(({ number, checksum }) => [number, checksum]));
  const sums = checksums(migrations);
  return {
    missing: [...sums.keys()].filter((number) => !applied.has(number)),
    changed: [...applied].flatMap(([number, sum]) => (sums.has(number) && sums.get(number) !== sum ? [number] : [])),
    unknown: [...applied.keys()].filter((number) => !sums.has(number)),
  };
}

export const checksums = (migrations: readonly Migration[]): ReadonlyMap<number, string> =>
  new Map(migrations.map((m) => [m.number, createHash('sha256').update(m.sql).digest('hex')]));

// Loads the migrations of a folder: files named `NNNN-name.sql`, from 0001 without gaps.

const FILE = /^([0-9]{4})-([a-z0-9-]+)\.sql$/;

/** Returns the migrations in order. Throws when a file has another name, or when a number is missing or occurs twice. */
export async function loadMigrations(folder: TextFolder): Promise<readonly Migration[]> {
  const files = (await folder.names()).toSorted();
  return Promise.all(
    files.map(async (file, index) => {
      const [, digits, name] = FILE.exec(file) ?? [];
      if (digits === undefined || name === undefined)
        throw defect(
          `'${file}' in ${folder.path} is no migration: NNNN-name.sql, lower case letters, digits and - only`,
        );
      const number = Number(digits);
      if (number !== index + 1)
        throw defect(`migration '${file}' in ${folder.path}: its number should be ${index + 1}`);
      return { number, name, sql: await folder.read(file) };
    }),
  );
}

/** Migrations of the schema of the dataset access service. */
export const accessMigrations = (): Promise<readonly Migration[]> =>
  loadMigrations(programFolder('engine/adapters/migrations/access'));

/** Migrations of the cache database: the engine's memory first, the catalog after it. */
export const cacheMigrations = (): Promise<readonly Migration[]> =>
  loadMigrations(programFolder('engine/adapters/migrations/cache'));

/** Migrations of a control schema. */
export const controlMigrations = (): Promise<readonly Migration[]> =>
  loadMigrations(programFolder('engine/adapters/migrations/control'));

/** Migrations of a control schema on MariaDB. */
export const mariaDbControlMigrations = (): Promise<readonly Migration[]> =>
  loadMigrations(programFolder('engine/adapters/migrations/control-mariadb'));

/** Migrations of the schema of the report job service. */
export const reportMigrations = (): Promise<readonly Migration[]> =>
  loadMigrations(programFolder('engine/adapters/migrations/report'));
