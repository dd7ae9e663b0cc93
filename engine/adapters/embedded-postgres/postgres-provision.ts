// Creates roles, databases and schemas on the embedded PostgreSQL server. Idempotent, so the next start completes an
// interrupted one.

import { silentLogger } from '../../runtime/log.ts';
import { Postgres, type PostgresOptions, type Sql } from '../postgres/postgres.ts';

export interface Provision {
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly schema: string;
}

/** @param superuser connection options of a superuser, without database and schema */
export async function provision(
  superuser: Omit<PostgresOptions, 'database' | 'schema' | 'poolSize' | 'idleTimeoutMs'>,
  wanted: readonly Provision[],
  signal: AbortSignal,
): Promise<void> {
  const open = (database: string): Postgres =>
    new Postgres({ ...superuser, database, schema: 'public', poolSize: 1, idleTimeoutMs: 1_000 }, silentLogger());
  await using admin = open('postgres');
  for (const { user, password } of wanted) await ensureRole(admin, user, password);
  for (const database of new Set(wanted.map((one) => one.database))) {
    await ensureDatabase(admin, database);
    await using inside = open(database);
    for (const one of wanted.filter((other) => other.database === database)) {
      signal.throwIfAborted();
      await execute(inside, 'grant connect, create on database %I to %I', [database, one.user]);
      await execute(inside, 'create schema if not exists %I authorization %I', [one.schema, one.user]);
    }
  }
}

async function ensureRole(admin: Sql, role: string, password: string): Promise<void> {
  const [known] = await admin.query('select 1 from pg_roles where rolname = $1', [role]);
  await execute(admin, known ? 'alter role %I login password %L' : 'create role %I login password %L', [
    role,
    password,
  ]);
}

async function ensureDatabase(admin: Sql, database: string): Promise<void> {
  const [known] = await admin.query('select 1 from pg_database where datname = $1', [database]);
  if (known) return;
  await execute(admin, 'create database %I', [database]);
  // Users with access are named above; no other user of this server needs it.
  await execute(admin, 'revoke connect on database %I from public', [database]);
}

/** DDL statements take no parameters, so the server's format() quotes names and literals. */
async function execute(sql: Sql, template: string, values: readonly string[]): Promise<void> {
  const [row] = await sql.query<{ text: string }>('select format($1, variadic $2::text[]) as text', [template, values]);
  if (row) await sql.query(row.text);
}
