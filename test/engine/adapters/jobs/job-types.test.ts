// What waits of one type costs the claims for others nothing.

import t from 'tap';
import { completeAndFetchJobs } from '../../../../engine/adapters/jobs/complete-and-fetch.ts';
import { PostgresJobs } from '../../../../engine/adapters/jobs/jobs-postgres.ts';
import type { UserId } from '../../../../engine/model/ids.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { claimCost } from '../../../support/claim-cost.ts';
import { cacheDatabase, engineProcess } from '../../../support/engine-process.ts';

const signal = new AbortController().signal;
const FLOOD = 50_000;
const OWNERS = 1_000;
/** Pages: the flood alone fills more. */
const FEW = 600;
const CLAIM = { lane: 'import', crowdedTypes: [], blockedTypes: [] } as const;
const withheld = { blockedTypes: ['flood:1.0'] };
const crowded = { crowdedTypes: ['flood:1.0'] };
const besideOwner = { crowdedOwners: ['7' as UserId] };

const at = await cacheDatabase(t);
const { db, instance } = await engineProcess(t, at);
const jobs = new PostgresJobs(db, instance, systemClock);

/** The flood, due at that time. */
async function flood(owner: string, runAt: string): Promise<void> {
  await db.query('truncate job');
  await db.query(
    `insert into job (lane, dataset_id, rank, owner, event_id, source, type, run_at)
     select 'import', 'd' || n, 2, ${owner}, n, 'api', 'flood:1.0', ${runAt} from generate_series(1, $1::integer) n`,
    [FLOOD],
  );
  await db.query('vacuum (analyze) job');
}

/** Two that come later: the type of one sorts before the flood, and the other has none. */
async function others(): Promise<void> {
  await db.query(`
    insert into job (lane, dataset_id, rank, owner, event_id, source, type)
    select 'import', 'other' || nextval('event_id'), 2, 999, 1, 'api', type from unnest('{another:1.0,null}'::text[]) type`);
}

const OTHERS = ['another:1.0', undefined];

t.test(`the jobs of other types are found behind ${FLOOD} of a type that is not wanted`, async (t) => {
  const found = async (more: object, most = FEW): Promise<readonly (string | undefined)[]> => {
    let types: readonly (string | undefined)[] = [];
    const { pages, ms } = await claimCost(db, async () => {
      const claimed = await jobs.completeAndFetch([], { ...CLAIM, limit: 3, ...more }, signal);
      types = claimed.map(({ type }) => type);
    });
    t.comment(`${pages} pages, ${ms.toFixed(1)} ms`);
    t.ok(pages < most, `${pages} pages: ${JSON.stringify(more)}`);
    return types;
  };
  await flood(`1 + n % ${OWNERS}`, 'now()');
  t.same(await found(withheld), [], 'none waits');
  t.same(await found(crowded), ['flood:1.0', 'flood:1.0', 'flood:1.0']);
  await others();
  t.same((await found(withheld)).toSorted(), OTHERS);
  await others();
  const [first, second, third] = await found(crowded);
  t.same([first, second].toSorted(), OTHERS);
  t.equal(third, 'flood:1.0', 'comes last');
  await others();
  const eachOwner = 20 * OWNERS;
  t.same((await found({ ...withheld, ...besideOwner }, eachOwner)).toSorted(), OTHERS, 'it looks at each owner');

  await flood('7', 'now()');
  await others();
  t.same((await found({ ...withheld, ...besideOwner })).toSorted(), OTHERS, 'one owner has the flood');

  await flood('7', `now() + interval '1 hour'`);
  for (const more of [withheld, crowded, { ...crowded, ...besideOwner }])
    t.same(await found(more), [], 'the flood is not due');
});

t.test('a claim locks no job that it leaves to other processes', async (t) => {
  await db.query('truncate job');
  await db.query(`
    insert into job (lane, dataset_id, rank, owner, event_id, source, type)
    select 'import', type || n, 2, n, 1, 'api', type
    from unnest('{a:1.0,b:1.0,c:1.0,d:1.0}'::text[]) type, generate_series(1, 4) n`);
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
