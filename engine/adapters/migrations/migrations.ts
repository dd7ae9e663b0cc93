// Numbered SQL files, each applied once, in its own transaction, under an advisory lock, remembered with a checksum.

import { createHash } from 'node:crypto';
import { Failure } from '../../runtime/failure.ts';
import { type Postgres, quoteIdentifier, type Sql } from '../postgres/postgres.ts';

export interface Migration {
  /** From 1, without gaps. */
  readonly number: number;
  readonly name: string;
  readonly sql: string;
}

/** Numbers of migrations by what is the matter with them; nothing is when all are empty. */
export interface MigrationState {
  /** {@link migrate} would apply them. */
  readonly missing: readonly number[];
  /** Applied with another checksum: the schema was made by an unreleased version. */
  readonly changed: readonly number[];
  /** Applied by a newer program. */
  readonly unknown: readonly number[];
}

/** Any number; the same for every process, so that two starting at once take turns. */
const LOCK = 7_305_001;

/**
 * Brings a schema up to date and returns the numbers applied now. `schema` must be a checked identifier; inside the
 * files every name is unqualified (the search path is the schema). Released files never change, so a schema whose checksums
 * differ was made by an unreleased version and is refused. So is one that is newer than this program.
 */
export function migrate(
  db: Postgres,
  schema: string,
  migrations: readonly Migration[],
  signal: AbortSignal,
): Promise<readonly number[]> {
  return migrateTelling(db, schema, migrations, () => {}, signal);
}

/** As {@link migrate}; tells after each migration how many are applied now, those of earlier runs included. */
export async function migrateTelling(
  db: Postgres,
  schema: string,
  migrations: readonly Migration[],
  tell: (applied: number) => void,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const quoted = quoteIdentifier(schema);
  const sums = checksums(migrations);
  const applied: number[] = [];
  await db.transaction(async (sql) => {
    await sql.query('select pg_advisory_xact_lock($1)', [LOCK]);
    await sql.query(`create schema if not exists ${quoted}`);
    await sql.query(`create table if not exists ${quoted}.migration (
      number integer primary key, name text not null, checksum text not null, applied timestamptz not null default now())`);
  }, signal);
  for (const [before, migration] of migrations.entries()) {
    await db.transaction(async (sql) => {
      await sql.query('select pg_advisory_xact_lock($1)', [LOCK]);
      const [known] = await sql.query<{ checksum: string }>(
        `select checksum from ${quoted}.migration where number = $1`,
        [migration.number],
      );
      if (known) {
        if (known.checksum !== sums.get(migration.number))
          throw new Failure(
            'rejected',
            `schema ${schema} was made by an unreleased version of this program: its migration ${migration.number} differs from '${migration.name}' here. Use that version, or start with an empty schema, see config/deploy/UPGRADING.md`,
          );
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
    }, signal);
    tell(before + 1);
  }
  const [newest] = await db.query<{ number: number | null }>(`select max(number) as number from ${quoted}.migration`);
  if ((newest?.number ?? 0) > migrations.length)
    throw new Failure(
      'rejected',
      `schema ${schema} has migration ${newest?.number}; this program knows ${migrations.length}`,
    );
  return applied;
}

/** What {@link migrate} would find; changes nothing. */
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
  const applied = new Map(rows.map(({ number, checksum }) => [number, checksum]));
  const sums = checksums(migrations);
  return {
    missing: [...sums.keys()].filter((number) => !applied.has(number)),
    changed: [...applied].flatMap(([number, sum]) => (sums.has(number) && sums.get(number) !== sum ? [number] : [])),
    unknown: [...applied.keys()].filter((number) => !sums.has(number)),
  };
}

const checksums = (migrations: readonly Migration[]): ReadonlyMap<number, string> =>
  new Map(migrations.map((m) => [m.number, createHash('sha256').update(m.sql).digest('hex')]));
