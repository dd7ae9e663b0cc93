// A cache database with all its tables, for tests of what is kept there; and leases as rows, without a process behind.

import { cacheMigrations, migrate } from '../../engine/adapters/migrations/migrations.ts';
import type { Postgres, Sql } from '../../engine/adapters/postgres/postgres.ts';
import type { Lease } from '../../engine/ports/jobs.ts';
import { openDatabase } from './database.ts';

interface Teardown {
  teardown(fn: () => unknown): void;
}

export async function cacheDatabase(t: Teardown): Promise<Postgres> {
  const db = await openDatabase(t, 'cache');
  await migrate(db, 'cache', await cacheMigrations(), new AbortController().signal);
  return db;
}

/** Takes the lease, from its holder if it has one. */
export async function grantLease(sql: Sql, name: string): Promise<Lease> {
  const [row] = await sql.query<{ token: number }>(
    `insert into lease as l (name, holder, token, expires_at) values ($1, 1, 1, now() + interval '1 hour')
     on conflict (name) do update set holder = 1, token = l.token + 1 returning token`,
    [name],
  );
  if (!row) throw new Error(`no lease ${name}`);
  return { name, token: row.token };
}

export async function releaseLease(sql: Sql, lease: Lease): Promise<void> {
  await sql.query('update lease set holder = null where name = $1 and token = $2', [lease.name, lease.token]);
}
