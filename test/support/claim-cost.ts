// What a claim costs the database.

import type { Postgres } from '../../engine/adapters/postgres/postgres.ts';

/** Pages of the job table and its indexes that it reads, and its milliseconds. */
export async function claimCost(
  db: Pick<Postgres, 'query'>,
  claim: () => Promise<unknown>,
): Promise<{ readonly pages: number; readonly ms: number }> {
  const read = async (): Promise<number> => {
    await db.query('select pg_stat_force_next_flush()');
    const [row] = await db.query<{ pages: number }>(
      `select (sum(heap_blks_hit + heap_blks_read) + sum(idx_blks_hit + idx_blks_read))::int as pages
       from pg_statio_user_tables where relname = 'job'`,
    );
    return row?.pages ?? 0;
  };
  const before = await read();
  const begun = performance.now();
  await claim();
  const ms = performance.now() - begun;
  // Statistics are told by the session that claimed, when its next statement ends.
  await db.query('select pg_stat_force_next_flush()');
  return { pages: (await read()) - before, ms };
}
