// What complete_and_fetch_jobs does with rows that somebody else writes at the same moment: it waits, and then sees them as they
// have become.

import t, { type Test } from 'tap';
import { enqueueJobs } from '../../../../engine/adapters/jobs/enqueue-jobs.ts';
import { PostgresJobs } from '../../../../engine/adapters/jobs/jobs-postgres.ts';
import { LEASE_CHANNEL } from '../../../../engine/adapters/postgres/leases-postgres.ts';
import type { Postgres, Sql } from '../../../../engine/adapters/postgres/postgres.ts';
import type { PostgresInstance } from '../../../../engine/adapters/postgres/postgres-instance.ts';
import type { DatasetId, UserId } from '../../../../engine/model/ids.ts';
import type { ClaimedJob, JobRequest } from '../../../../engine/ports/jobs.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { cacheDatabase, emptyCache, engineProcess } from '../../../support/engine-process.ts';

const signal = new AbortController().signal;
const at = await cacheDatabase(t);
const CLAIM = { lane: 'import', crowdedTypes: [], blockedTypes: [] } as const;
const request = (eventId: number): JobRequest => ({
  ...{ lane: 'import', dataset: 'd' as DatasetId, owner: '1' as UserId, eventId, source: 'object-store' },
});

async function setup(t: Test) {
  await emptyCache(at);
  const { db, instance } = await engineProcess(t, at);
  const jobs = new PostgresJobs(db, instance, systemClock);
  await jobs.enqueue([request(1)], signal);
  const [job] = await jobs.completeAndFetch([], { ...CLAIM, limit: 1 }, signal);
  const complete = () =>
    jobs.completeAndFetch([{ job: job as ClaimedJob, outcome: { kind: 'done' } }], { ...CLAIM, limit: 0 }, signal);
  return { db, instance, jobs, complete };
}

/** Until so many statements wait for locks of others. */
async function somebodyWaits(db: Postgres, count = 1): Promise<void> {
  const waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  while ((await db.query(waiting)).length < count);
}

/** Watches a lane; resolved when it listens, with what resolves when it is woken after that. */
async function watched(jobs: PostgresJobs, instance: PostgresInstance, lane: 'install') {
  const woken = Promise.withResolvers<void>();
  let listens = false;
  jobs.watch(lane, () => {
    if (listens) woken.resolve();
  });
  await new Promise<void>((resolve) => void instance.listen(LEASE_CHANNEL, () => resolve()));
  listens = true;
  return { woken: woken.promise };
}

const rows = async (db: Postgres) => ({
  jobs: await db.query('select state, again, event_id, holder from job'),
  leases: await db.query('select holder from lease'),
});

/** What `completeAndFetch` gives when it begins while somebody's change is written and not committed. */
async function meanwhile<Result>(
  db: Postgres,
  change: (sql: Sql) => Promise<unknown>,
  completeAndFetch: () => Promise<Result>,
): Promise<Result> {
  let fetched: Promise<Result> | undefined;
  await db.transaction(async (sql) => {
    await change(sql);
    fetched = completeAndFetch();
    await somebodyWaits(db);
  }, signal);
  return (await fetched) as Result;
}

t.test('a job whose lease is being renewed is completed, and its lease is free', async (t) => {
  const { db, complete } = await setup(t);
  const renew = "update lease set expires_at = now() + interval '30 seconds'";
  await meanwhile(db, (sql) => sql.query(renew), complete);
  t.same(await rows(db), { jobs: [], leases: [{ holder: null }] });
});

t.test('a job that an event is coming for is completed, and comes again', async (t) => {
  const { db, jobs, complete } = await setup(t);
  await meanwhile(db, (sql) => enqueueJobs(sql, [request(2)]), complete);
  t.same(await rows(db), {
    jobs: [{ state: 'queued', again: false, event_id: 2, holder: null }],
    leases: [{ holder: null }],
  });
  t.match(await jobs.completeAndFetch([], { ...CLAIM, limit: 1 }, signal), [{ dataset: 'd', eventId: 2 }]);
});

t.test('completions of all kinds lock jobs in the order in which events do', async (t) => {
  const { db, jobs } = await setup(t);
  const both = ['e', 'f'].map((dataset) => ({ ...request(2), dataset: dataset as DatasetId }));
  await jobs.enqueue(both, signal);
  const [e, f] = (await jobs.completeAndFetch([], { ...CLAIM, limit: 2 }, signal)) as [ClaimedJob, ClaimedJob];
  const done = [
    { job: e, outcome: { kind: 'retry', delayMs: 60_000, message: 'later', countsAttempt: true } as const },
    { job: f, outcome: { kind: 'done' } as const },
  ];
  let completed: Promise<unknown> | undefined;
  await db.transaction(async (sql) => {
    await enqueueJobs(sql, both.slice(0, 1));
    completed = jobs.completeAndFetch(done, { ...CLAIM, limit: 0 }, signal);
    await somebodyWaits(db);
    t.equal((await sql.query("select from job where dataset_id = 'f' for update skip locked")).length, 1);
  }, signal);
  await completed;
  t.match(await db.query("select dataset_id, state from job where dataset_id > 'd'"), [
    { dataset_id: 'e', state: 'delayed' },
  ]);
});

t.test('a lost lease keeps its job from being completed', async (t) => {
  const { db, complete } = await setup(t);
  await meanwhile(db, (sql) => sql.query('update lease set token = token + 1'), complete);
  t.match(await rows(db), { jobs: [{ state: 'running', event_id: 1 }], leases: [{ holder: Number }] });
});

t.test('of two claims of a dataset that are completed together, the later counts, whichever comes first', async (t) => {
  for (const order of ['in order', 'reversed']) {
    const { db, jobs } = await setup(t);
    await db.query("update lease set expires_at = now() - interval '1 second'");
    const [again] = await jobs.completeAndFetch([], { ...CLAIM, limit: 1 }, signal);
    const later = { job: again as ClaimedJob, outcome: { kind: 'done' } as const };
    const earlier = { job: { ...later.job, lease: { ...later.job.lease, token: later.job.lease.token - 1 } } };
    const both = [{ ...earlier, outcome: { kind: 'dead', failure: 'defect', message: 'late' } as const }, later];
    await jobs.completeAndFetch(order === 'in order' ? both : both.toReversed(), { ...CLAIM, limit: 0 }, signal);
    t.same(await rows(db), { jobs: [], leases: [{ holder: null }] }, order);
  }
});

t.test('a lease that somebody else takes while a claim is under way is theirs, and its job waits', async (t) => {
  const { db, jobs, complete } = await setup(t);
  await complete();
  await jobs.enqueue([request(2)], signal);
  const other = (await engineProcess(t, at)).instance.id;
  const taken = "update lease set holder = $1, token = token + 1, expires_at = now() + interval '30 seconds'";
  const claim = () => jobs.completeAndFetch([], { ...CLAIM, limit: 1 }, signal);
  t.strictSame(await meanwhile(db, (sql) => sql.query(taken, [other]), claim), []);
  t.match(await rows(db), { jobs: [{ state: 'queued', holder: null }], leases: [{ holder: other }] });
});

t.test(
  'a lease that changes while a claim is under way, and is free, is taken with its job or not at all',
  async (t) => {
    const { db, jobs, complete } = await setup(t);
    await complete();
    await jobs.enqueue([request(2)], signal);
    const claim = () => jobs.completeAndFetch([], { ...CLAIM, limit: 1 }, signal);
    const first = await meanwhile(db, (sql) => sql.query('update lease set token = token + 1'), claim);
    const held = await rows(db);
    t.equal(held.leases.filter(({ holder }) => holder !== null).length, first.length);
    const [job] = first.length > 0 ? first : await claim();
    t.match(job, { dataset: 'd', eventId: 2 });
  },
);

t.test('of the jobs that two processes claim at once each has its lease with the same', async (t) => {
  const { db, jobs, complete } = await setup(t);
  await complete();
  const { instance, db: otherDb } = await engineProcess(t, at);
  const others = new PostgresJobs(otherDb, instance, systemClock);
  const datasets = Array.from({ length: 60 }, (_, n) => `d${n}` as DatasetId);
  for (let round = 0; round < 5; round++) {
    for (const lane of ['import', 'install'] as const)
      await jobs.enqueue(
        datasets.map((dataset) => ({ ...request(round + 3), dataset, lane })),
        signal,
      );
    const claims = await Promise.all([
      jobs.completeAndFetch([], { ...CLAIM, limit: 40 }, signal),
      others.completeAndFetch([], { ...CLAIM, lane: 'install', limit: 40 }, signal),
      others.completeAndFetch([], { ...CLAIM, limit: 40 }, signal),
    ]);
    const claimed = claims.flat().map(({ dataset }) => dataset);
    t.equal(new Set(claimed).size, claimed.length, 'no dataset is worked on twice');
    const held = await db.query<{ name: DatasetId }>('select name from lease where holder is not null');
    t.strictSame(held.map(({ name }) => name).sort(), [...claimed].sort());
    await db.query('delete from job');
    await db.query('update lease set holder = null, expires_at = now()');
  }
});

t.test(
  'processes that complete and claim the same datasets in several lanes at once never wait in a ring',
  async (t) => {
    await emptyCache(at);
    const lanes = ['import', 'install', 'sharing'] as const;
    const datasets = Array.from({ length: 1_000 }, (_, n) => `d${n}` as DatasetId);
    const { db, instance } = await engineProcess(t, at);
    const { db: otherDb, instance: other } = await engineProcess(t, at);
    const processes = [new PostgresJobs(db, instance, systemClock), new PostgresJobs(otherDb, other, systemClock)];
    const deadlocks = async () => {
      for (const one of [db, otherDb])
        await Promise.all([1, 2, 3, 4].map(() => one.query('select pg_stat_force_next_flush(), pg_sleep(0.01)')));
      return (await db.query('select deadlocks from pg_stat_database where datname = current_database()'))[0]
        ?.deadlocks;
    };
    const before = await deadlocks();
    for (let round = 0; round < 3; round++) {
      for (const lane of lanes)
        await processes[0]?.enqueue(
          datasets.map((dataset) => ({ ...request(round + 1), dataset, lane })),
          signal,
        );
      const drain = async (jobs: PostgresJobs, lane: (typeof lanes)[number]) => {
        let claimed: readonly ClaimedJob[] = [];
        do {
          const done = claimed.map((job) => ({ job, outcome: { kind: 'done' } as const }));
          claimed = await jobs.completeAndFetch(done, { ...CLAIM, lane, limit: 60 }, signal);
        } while (claimed.length > 0);
      };
      await Promise.all(processes.flatMap((jobs) => lanes.flatMap((lane) => [drain(jobs, lane), drain(jobs, lane)])));
      await db.query('delete from job');
    }
    t.equal(await deadlocks(), before);
  },
);

t.test('completions that a deadlock undid are written all the same', async (t) => {
  const { db, jobs } = await setup(t);
  const others = ['e', 'f'].map((dataset) => ({ ...request(2), dataset: dataset as DatasetId }));
  await jobs.enqueue(others, signal);
  const claimed = await jobs.completeAndFetch([], { ...CLAIM, limit: 2 }, signal);
  const [first] = await db.query<{ id: number; token: number }>("select id, token from job where dataset_id = 'd'");
  const d = { ...claimed[0], ...first, dataset: 'd', lease: { name: 'd', token: first?.token } } as ClaimedJob;
  const done = [...claimed, d].map((job) => ({ job, outcome: { kind: 'done' } as const }));
  const renew = "update lease set expires_at = now() + interval '30 seconds' where name = $1";
  let completed: Promise<unknown> | undefined;
  let renewed: Promise<unknown> | undefined;
  // The fetch has the lease of d and waits for that of e; who has that of f waits for d; then e is free, and the
  // fetch waits for f: it closes the ring. It alone looks for one, so it is undone, or nobody ever goes on.
  await db.transaction(async (sql) => {
    await sql.query("set local deadlock_timeout = '1h'");
    await sql.query(renew, ['f']);
    await db.transaction(async (e) => {
      await e.query(renew, ['e']);
      completed = jobs.completeAndFetch(done, { ...CLAIM, limit: 0 }, signal);
      await somebodyWaits(db);
      renewed = sql.query(renew, ['d']);
      await somebodyWaits(db, 2);
    }, signal);
    await renewed;
  }, signal);
  await completed;
  t.same(await rows(db), { jobs: [], leases: [{ holder: null }, { holder: null }, { holder: null }] });
});

t.test('a lane is told at once of a lease that its own process released', async (t) => {
  const { jobs, instance, complete } = await setup(t);
  await jobs.enqueue([{ ...request(2), lane: 'install' }], signal);
  const { woken } = await watched(jobs, instance, 'install');
  t.strictSame(await jobs.completeAndFetch([], { ...CLAIM, lane: 'install', limit: 1 }, signal), []);
  await complete();
  await woken;
  t.match(await jobs.completeAndFetch([], { ...CLAIM, lane: 'install', limit: 1 }, signal), [{ dataset: 'd' }]);
});
