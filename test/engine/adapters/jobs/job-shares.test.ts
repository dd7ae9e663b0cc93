// What one owner has waiting costs the claims for others nothing.

import t from 'tap';
import { completeAndFetchJobs } from '../../../../engine/adapters/jobs/complete-and-fetch.ts';
import { PostgresJobs } from '../../../../engine/adapters/jobs/jobs-postgres.ts';
import type { DatasetId, UserId } from '../../../../engine/model/ids.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { cacheDatabase, engineProcess } from '../../../support/engine-process.ts';

const signal = new AbortController().signal;
const FLOOD = 50_000;
/** Pages: the flood alone fills more. */
const FEW = 600;
const CLAIM = { lane: 'import', crowdedTypes: [], blockedTypes: [] } as const;
const [flooder, other] = ['1', '2'] as UserId[] as [UserId, UserId];

const at = await cacheDatabase(t);
const { db, instance } = await engineProcess(t, at);
const jobs = new PostgresJobs(db, instance, systemClock);
await db.query(
  `insert into job (lane, dataset_id, rank, owner, event_id, source)
   select 'import', 'd' || n, 2, case when n > $1 then 1 + n - $1 else 1 end, n, 'api' from generate_series(1, $1 + 3) n`,
  [FLOOD],
);
// A sample of such a table mostly has jobs of that owner alone: the planner then believes that there is no other.
await db.query('alter table job alter owner set (n_distinct = 1)');
await db.query('vacuum (analyze) job');

/** Index and table pages that a claim reads, and its milliseconds. */
async function costOf(work: () => Promise<unknown>): Promise<{ readonly pages: number; readonly ms: number }> {
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
  await work();
  const ms = performance.now() - begun;
  // Statistics are told by the session that claimed, when its next statement ends.
  await db.query('select pg_stat_force_next_flush()');
  return { pages: (await read()) - before, ms };
}

t.test(`the jobs of others are found behind ${FLOOD} that are not wanted`, async (t) => {
  for (const [n, more] of [{ withheldOwners: [flooder] }, { crowdedOwners: [flooder] }].entries()) {
    let claimed: readonly { readonly dataset: DatasetId; readonly owner: UserId }[] = [];
    const { pages, ms } = await costOf(async () => {
      claimed = await jobs.completeAndFetch([], { ...CLAIM, limit: 1, ...more }, signal);
    });
    t.strictSame(
      claimed.map(({ owner }) => owner),
      [String(n + 2)],
      Object.keys(more).join(),
    );
    t.comment(`${pages} pages, ${ms.toFixed(1)} ms`);
    t.ok(pages < 200, `${pages} pages of the table and its indexes were read`);
  }
  const none = await costOf(() =>
    jobs.completeAndFetch([], { ...CLAIM, limit: 9, withheldOwners: [flooder, other] }, signal),
  );
  t.ok(none.pages < 500, `${none.pages} pages to find the last one`);
});

t.test('the jobs of the owner who has all of them are found as fast', async (t) => {
  const { pages, ms } = await costOf(() =>
    jobs.completeAndFetch([], { ...CLAIM, limit: 4, crowdedOwners: [flooder] }, signal),
  );
  t.comment(`${pages} pages, ${ms.toFixed(1)} ms`);
  t.ok(pages < 500);
});

t.test(`the jobs of other types are found behind ${FLOOD} of a type that is not wanted`, async (t) => {
  await db.query(`update job set type = 'flood:1.0', owner = 1 + id % 1000 where state = 'queued'`);
  await db.query('vacuum (analyze) job');
  const found = async (most: number, more: object): Promise<readonly (string | undefined)[]> => {
    let claimed: readonly { readonly type: string | undefined }[] = [];
    const { pages, ms } = await costOf(async () => {
      claimed = await jobs.completeAndFetch([], { ...CLAIM, limit: 3, ...more }, signal);
    });
    t.comment(`${pages} pages, ${ms.toFixed(1)} ms`);
    t.ok(pages < most, `${pages} pages: ${JSON.stringify(more)}`);
    return claimed.map(({ type }) => type);
  };
  /** One sorts before the flood, and one has no type. */
  const others = async (): Promise<void> => {
    await db.query(`
      insert into job (lane, dataset_id, rank, owner, event_id, source, type)
      select 'import', 'other' || nextval('event_id'), 2, 999, 1, 'api', type from unnest('{another:1.0,null}'::text[]) type`);
  };
  const [withheld, crowded] = [{ blockedTypes: ['flood:1.0'] }, { crowdedTypes: ['flood:1.0'] }];
  t.same(await found(FEW, withheld), [], 'none waits');
  t.same(await found(FEW, crowded), ['flood:1.0', 'flood:1.0', 'flood:1.0']);
  await others();
  t.same((await found(FEW, withheld)).toSorted(), ['another:1.0', undefined]);
  await others();
  const [first, second, third] = await found(FEW, crowded);
  t.same([first, second].toSorted(), ['another:1.0', undefined]);
  t.equal(third, 'flood:1.0', 'comes last');
  await others();
  const of = { crowdedOwners: ['7' as UserId] };
  // It looks at each of a thousand owners.
  t.same((await found(20_000, { ...withheld, ...of })).toSorted(), ['another:1.0', undefined]);
  await db.query(`update job set owner = 7 where type = 'flood:1.0' and state = 'queued'`);
  await db.query('vacuum (analyze) job');
  await others();
  t.same((await found(FEW, { ...withheld, ...of })).toSorted(), ['another:1.0', undefined], 'one owner has the flood');
  await db.query(`update job set run_at = now() + interval '1 hour' where type = 'flood:1.0' and state = 'queued'`);
  await db.query('vacuum (analyze) job');
  for (const more of [withheld, crowded, { ...crowded, ...of }]) t.same(await found(FEW, more), [], 'it is not due');
});

t.test('processes that claim at the same time share what is due, whatever its types', async (t) => {
  await db.query('truncate job');
  const types = ['a:1.0', 'b:1.0', 'c:1.0', 'd:1.0'];
  await db.query(
    `insert into job (lane, dataset_id, rank, owner, event_id, source, type)
     select 'import', type || n, 2, n, 1, 'api', type from unnest($1::text[]) type, generate_series(1, 10) n`,
    [types],
  );
  const other = await engineProcess(t, at);
  const claim = { ...CLAIM, limit: 8, blockedTypes: ['none:1.0'] };
  const both = await db.transaction(async (sql) => {
    // Its transaction is open, so that what it has locked stays locked.
    const one = await completeAndFetchJobs(sql, instance.id, [], { ...claim, afterOwner: undefined });
    const two = await new PostgresJobs(other.db, other.instance, systemClock).completeAndFetch([], claim, signal);
    return [one.claimed.length, two.length];
  }, signal);
  t.same(both, [8, 8]);
});
