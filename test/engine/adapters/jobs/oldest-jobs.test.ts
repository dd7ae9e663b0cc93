import t, { type Test } from 'tap';
import { enqueueJobs, PostgresJobs } from '../../../../engine/adapters/jobs/jobs-postgres.ts';
import { OldestJobs } from '../../../../engine/adapters/jobs/oldest-jobs.ts';
import type { DatasetId, UserId } from '../../../../engine/model/ids.ts';
import type { JobRequest } from '../../../../engine/ports/jobs.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { cacheDatabase, emptyCache, engineProcess } from '../../../support/engine-process.ts';

const signal = new AbortController().signal;
const at = await cacheDatabase(t);
const LIMIT = 10;
const CLAIM = { lane: 'import', limit: LIMIT, crowdedTypes: [], blockedTypes: [] } as const;
const first = { runAt: '2020-01-01 00:00:00.000001+00', id: 1 };
const second = { runAt: '2020-01-01 00:00:00.000002+00', id: 2 };

const requests = (name: string, count: number): JobRequest[] =>
  Array.from({ length: count }, (_, n) => ({
    ...{
      lane: 'import',
      dataset: `${name}${n}` as DatasetId,
      owner: '1' as UserId,
      eventId: n,
      source: 'object-store',
    },
  }));

async function setup(t: Test) {
  await emptyCache(at);
  const { db, instance } = await engineProcess(t, at);
  const clock = new VirtualClock();
  const jobs = new PostgresJobs(db, instance, clock);
  let wakes = 0;
  t.teardown(jobs.watch('import', () => wakes++));
  const claim = async () => (await jobs.exchange([], CLAIM, signal)).map(({ dataset }) => dataset.replace(/\d+$/, ''));
  return { db, clock, claim, wakes: () => wakes };
}

t.test(
  'the next claim begins at the oldest job while claims are full, and at the beginning after a while',
  async (t) => {
    const clock = new VirtualClock();
    const oldest = new OldestJobs(clock);
    t.equal(oldest.of('import'), undefined);
    t.equal(oldest.claimed('import', undefined, first, LIMIT, LIMIT), false);
    t.same([oldest.of('import'), oldest.of('install')], [first, undefined]);
    await clock.advance(999);
    t.equal(oldest.claimed('import', first, second, LIMIT, LIMIT), false);
    t.same(oldest.of('import'), second);
    await clock.advance(1);
    t.equal(oldest.of('import'), undefined);
  },
);

t.test('a claim that found less than wanted is made again from the beginning', async (t) => {
  const oldest = new OldestJobs(systemClock);
  oldest.claimed('import', undefined, first, LIMIT, LIMIT);
  t.equal(oldest.claimed('import', first, second, LIMIT, LIMIT - 1), true);
  t.equal(oldest.of('import'), undefined);
  t.equal(oldest.claimed('import', undefined, first, LIMIT, 0), false);
});

t.test('few are looked for from the beginning', async (t) => {
  const oldest = new OldestJobs(systemClock);
  oldest.claimed('import', undefined, first, 1, 1);
  t.equal(oldest.of('import'), undefined);
});

/** Jobs that were enqueued before others and are seen after some of those have been claimed. */
async function seenLate(t: Test, others: number) {
  const opened = await setup(t);
  await opened.db.transaction(async (sql) => {
    await sql.query('select now()');
    const { db } = await engineProcess(t, at);
    await enqueueJobs(db, requests('other', others));
    t.same(await opened.claim(), Array(LIMIT).fill('other'));
    await enqueueJobs(sql, requests('late', 1));
  }, signal);
  return opened;
}

t.test('a job that comes to stand before the oldest is claimed when the others are', async (t) => {
  const { claim, wakes } = await seenLate(t, LIMIT + 1);
  const before = wakes();
  t.same(await claim(), ['other']);
  t.ok(wakes() > before, 'woken to look again');
  t.same(await claim(), ['late']);
});

t.test('a job that comes to stand before the oldest waits no longer than a second for the others', async (t) => {
  const { clock, claim } = await seenLate(t, 3 * LIMIT);
  t.same(await claim(), Array(LIMIT).fill('other'));
  await clock.advance(1_000);
  t.same((await claim()).slice(0, 2), ['late', 'other']);
});
