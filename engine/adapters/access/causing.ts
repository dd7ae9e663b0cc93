// A transaction with the cause (user and time) that the triggers of the access schema record.

import type { Cause } from '../../ports/access-people.ts';
import type { Postgres, Sql } from '../postgres/postgres.ts';

export function causing<Result>(
  db: Pick<Postgres, 'transaction'>,
  cause: Cause,
  work: (sql: Sql) => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  return db.transaction(async (sql) => {
    await setCause(sql, cause);
    return work(sql);
  }, signal);
}

/** Applies to the rest of this transaction. */
export async function setCause(sql: Sql, { user, at }: Cause): Promise<void> {
  await sql.query("select set_config('longshore.cause_user', $1, true), set_config('longshore.cause_time', $2, true)", [
    user,
    at.toISOString(),
  ]);
}
