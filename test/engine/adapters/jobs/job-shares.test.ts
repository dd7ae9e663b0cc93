// What one owner has waiting costs the claims for others nothing.

import t from 'tap';
import { PostgresJobs } from '../../../../engine/adapters/jobs/jobs-postgres.ts';
import type { DatasetId, UserId } from '../../../../engine/model/ids.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { claimCost } from '../../../support/claim-cost.ts';
import { cacheDatabase, engineProcess } from '../../../support/engine-process.ts';

const signal = new AbortController().signal;
const FLOOD = 100_000;
const CLAIM = { lane: 'import', crowdedTypes: [], blockedTypes: [] } as const;
const [flooder, other] = ['1', '2'] as UserId[] as [UserId, UserId];

const { db, instance } = await engineProcess(t, await cacheDatabase(t));
const jobs = new PostgresJobs(db, instance, systemClock);
await db.query(
  `insert into job (lane, dataset_id, rank, owner, event_id, source)
   select 'import', 'd' || n, 2, case when n > $1 then 1 + n - $1 else 1 end, n, 'api' from generate_series(1, $1 + 3) n`,
  [FLOOD],
);
// A sample of such a table mostly has jobs of that owner alone: the planner then believes that there is no other.
await db.query('alter table job alter owner set (n_distinct = 1)');
await db.query('vacuum (analyze) job');

t.test(`the jobs of others are found behind ${FLOOD} that are not wanted`, async (t) => {
  for (const [n, more] of [{ withheldOwners: [flooder] }, { crowdedOwners: [flooder] }].entries()) {
    let claimed: readonly { readonly dataset: DatasetId; readonly owner: UserId }[] = [];
    const { pages, ms } = await claimCost(db, async () => {
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
  const none = await claimCost(db, () =>
    jobs.completeAndFetch([], { ...CLAIM, limit: 9, withheldOwners: [flooder, other] }, signal),
  );
  t.ok(none.pages < 500, `${none.pages} pages to find the last one`);
});

t.test('the jobs of the owner who has all of them are found as fast', async (t) => {
  const { pages, ms } = await claimCost(db, () =>
    jobs.completeAndFetch([], { ...CLAIM, limit: 4, crowdedOwners: [flooder] }, signal),
  );
  t.comment(`${pages} pages, ${ms.toFixed(1)} ms`);
  t.ok(pages < 500);
});
