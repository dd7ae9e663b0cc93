// A transaction with the cause (user and time) that the triggers of the access schema record. If it creates something for a
// request with a key, it stores the answer too.

import type { Cause } from '../../ports/access-people.ts';
import { sealKey } from '../idempotency/idempotency-keys-postgres.ts';
import type { Postgres, Sql } from '../postgres/postgres.ts';

export function causing<Result>(
  db: Pick<Postgres, 'transaction'>,
  cause: Cause,
  work: (sql: Sql) => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  return db.transaction(async (sql) => {
    await setCause(sql, cause);
    const result = await work(sql);
    const created: unknown = result;
    if (typeof created === 'number' || created === true) await sealCause(sql, cause, created);
    return result;
  }, signal);
}

/** At the end of the transaction. */
export async function sealCause(sql: Sql, { keyed }: Cause, created: number | true): Promise<void> {
  if (keyed) await sealKey(sql, keyed(created));
}

/** Applies to the rest of this transaction. */
export async function setCause(sql: Sql, { user, at }: Cause): Promise<void> {
  await sql.query("select set_config('longshore.cause_user', $1, true), set_config('longshore.cause_time', $2, true)", [
    user,
    at.toISOString(),
  ]);
}
