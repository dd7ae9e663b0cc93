// What every implementation of the jobs port does: enqueueing, claiming and waking. What becomes of a claimed job is
// in job-outcomes.ts.

import t, { type Test } from 'tap';
import { type EventSource, LANES, type LaneName } from '../../engine/model/event.ts';
import type { DatasetId, UserId } from '../../engine/model/ids.ts';
import type { ClaimedJob, ClaimRequest, JobRequest, Jobs, Leases, RecordedOutcome } from '../../engine/ports/jobs.ts';
import { leaseAfter } from './leases.ts';

/** A job's row as an administrator would see it. */
export interface JobView {
  readonly lane: LaneName;
  readonly dataset: string;
  readonly state: 'queued' | 'running' | 'delayed' | 'dead';
  readonly eventId: number;
  readonly again: boolean;
  readonly alone: boolean;
  readonly attempts: number;
  readonly crashes: number;
  readonly failure: string | undefined;
  readonly message: string | undefined;
}

export interface JobsUnderTest {
  readonly first: { readonly jobs: Jobs; readonly leases: Leases };
  /** The same memory, seen by another process. */
  readonly second: { readonly jobs: Jobs; readonly leases: Leases };
  /** The second process ends without completing or releasing anything. */
  killSecond(): Promise<void>;
  /** Lets time pass for jobs, leases and timers. */
  advance(ms: number): Promise<void>;
  /** Tells the catalog the type of a dataset. */
  addToCatalog(dataset: DatasetId, type: { readonly name: string; readonly version: string }): Promise<void>;
  /** All rows, oldest first. */
  view(): Promise<readonly JobView[]>;
}

export type OpenJobs = (t: Test) => Promise<JobsUnderTest>;

export const signal = new AbortController().signal;

export const request = (lane: LaneName, dataset: string, eventId = 1, source: EventSource = 'api'): JobRequest => ({
  lane,
  dataset: dataset as DatasetId,
  owner: '9223372036854775999' as UserId,
  eventId,
  source,
});

export const claimOf = (lane: LaneName, limit = 10, more: Partial<ClaimRequest> = {}): ClaimRequest => ({
  lane,
  limit,
  crowdedTypes: [],
  blockedTypes: [],
  ...more,
});

export const claim = (jobs: Jobs, lane: LaneName, limit?: number): Promise<readonly ClaimedJob[]> =>
  jobs.completeAndFetch([], claimOf(lane, limit), signal);

/** The one job that the lane has to give. */
export async function claimOne(jobs: Jobs, lane: LaneName): Promise<ClaimedJob> {
  const [job, ...more] = await claim(jobs, lane);
  if (!job || more.length > 0) throw new Error(`${lane} gave ${more.length + (job ? 1 : 0)} jobs, not one`);
  return job;
}

/** A new job, claimed. */
export async function claimed(jobs: Jobs, lane: LaneName, dataset: string): Promise<ClaimedJob> {
  await jobs.enqueue([request(lane, dataset)], signal);
  return claimOne(jobs, lane);
}

/** Completes without claiming. */
export async function complete(jobs: Jobs, job: ClaimedJob, outcome: RecordedOutcome): Promise<void> {
  await jobs.completeAndFetch([{ job, outcome }], claimOf(job.lane, 0), signal);
}

/** Claims as a lane does: looks, and looks again whenever it is woken. */
export async function claimWhenWoken(jobs: Jobs, lane: LaneName): Promise<readonly ClaimedJob[]> {
  let woken = Promise.withResolvers<void>();
  const stop = jobs.watch(lane, () => woken.resolve());
  try {
    for (;;) {
      const found = await claim(jobs, lane);
      if (found.length > 0) return found;
      await woken.promise;
      woken = Promise.withResolvers();
    }
  } finally {
    stop();
  }
}

const datasets = (jobs: readonly ClaimedJob[]): readonly string[] => jobs.map((job) => job.dataset);

export function jobsConformance(name: string, open: OpenJobs): void {
  const fact = (what: string, check: (t: Test, under: JobsUnderTest) => Promise<void>): void => {
    t.test(`${name}: ${what}`, async (t) => check(t, await open(t)));
  };

  fact('a dataset is overtaken while its soft delete is queued', async (t, { first, second }) => {
    await first.jobs.enqueue([request('import', 'd1'), request('install', 'd2'), request('import', 'd3')], signal);
    await first.jobs.enqueue([request('hardDelete', 'd3'), request('softDelete', 'd4')], signal);
    const all = ['d1', 'd2', 'd3', 'd5'].map((dataset) => dataset as DatasetId);
    t.same(await first.jobs.overtaken(all, signal), []);
    await claimOne(second.jobs, 'install');
    await first.jobs.enqueue([request('softDelete', 'd1'), request('softDelete', 'd2')], signal);
    t.same([...(await second.jobs.overtaken(all, signal))].sort(), ['d1', 'd2']);
    const [one] = await claim(first.jobs, 'softDelete', 1);
    t.equal(one?.dataset, 'd4');
    const running = await claimOne(first.jobs, 'softDelete');
    t.same([running.dataset, await first.jobs.overtaken(all, signal)], ['d1', ['d2']]);
    await complete(first.jobs, running, { kind: 'dead', failure: 'rejected', message: 'no' });
    t.same(await first.jobs.overtaken(all, signal), ['d2']);
    t.same(await first.jobs.overtaken([], signal), []);
  });

  fact('a claimed job carries its request, its lease and its history', async (t, { first, advance }) => {
    await first.jobs.enqueue([request('import', 'd1', 41, 'object-store')], signal);
    await advance(2_000);
    const { id, waitedMs, lease, ...job } = await claimOne(first.jobs, 'import');
    t.same(job, {
      ...request('import', 'd1', 41, 'object-store'),
      attempts: 0,
      crashes: 0,
      alone: false,
      type: undefined,
    });
    t.equal(lease.name, 'd1');
    t.ok(lease.token > 0);
    t.ok(id > 0);
    t.ok(waitedMs >= 2_000, `waited ${waitedMs} ms`);
  });

  fact('a lane that got as many jobs as it may is woken if there are more', async (t, { first }) => {
    await first.jobs.enqueue([request('import', 'd1'), request('import', 'd2'), request('import', 'd3')], signal);
    const got: string[] = [];
    let woken = Promise.withResolvers<void>();
    const stop = first.jobs.watch('import', () => woken.resolve());
    while (got.length < 3) {
      got.push(...datasets(await claim(first.jobs, 'import', 1)));
      if (got.length === 3) break;
      await woken.promise;
      woken = Promise.withResolvers();
    }
    stop();
    t.same(got, ['d1', 'd2', 'd3']);
  });

  fact('a job that waited for another one of its dataset waits since that one ended', async (t, { first, advance }) => {
    await first.jobs.enqueue([request('import', 'd1'), request('install', 'd1')], signal);
    const before = await claimOne(first.jobs, 'import');
    await advance(5_000);
    await complete(first.jobs, before, { kind: 'done' });
    await advance(2_000);
    const { waitedMs } = await claimOne(first.jobs, 'install');
    t.ok(waitedMs >= 2_000 && waitedMs < 7_000, `waited ${waitedMs} ms`);
  });

  fact(
    'jobs are claimed in the order in which they became claimable, up to the limit',
    async (t, { first, advance }) => {
      for (const dataset of ['c', 'a', 'b']) {
        await first.jobs.enqueue([request('import', dataset)], signal);
        await advance(1);
      }
      t.same(datasets(await claim(first.jobs, 'import', 2)), ['c', 'a']);
      t.same(datasets(await claim(first.jobs, 'import', 2)), ['b']);
      t.same(await claim(first.jobs, 'import'), []);
    },
  );

  fact(
    'datasets with and without a lease of before are claimed together, each with its own',
    async (t, { first, view }) => {
      const before = ['b', 'd', 'f'];
      await first.jobs.enqueue(
        before.map((dataset) => request('upload', dataset)),
        signal,
      );
      for (const job of await claim(first.jobs, 'upload')) await complete(first.jobs, job, { kind: 'done' });
      const all = ['a', 'b', 'c', 'd', 'e', 'f'];
      await first.jobs.enqueue(
        all.map((dataset) => request('import', dataset)),
        signal,
      );
      const claimed = await claim(first.jobs, 'import');
      t.same(datasets(claimed), all);
      t.same(
        claimed.map(({ lease }) => lease.name),
        all,
      );
      const leases = claimed.map(({ lease }) => lease);
      t.same(await first.leases.renew(leases, signal), [], 'all of them are held');
      t.same(await first.leases.renew(leases.map(leaseAfter), signal), leases.map(leaseAfter), 'with no other token');
      await first.jobs.completeAndFetch(
        claimed.map((job) => ({ job, outcome: { kind: 'done' } })),
        claimOf('import', 0),
        signal,
      );
      t.same(await view(), []);
    },
  );
  fact('a lane is given its own jobs only', async (t, { first }) => {
    await first.jobs.enqueue([request('import', 'd1')], signal);
    t.same(await claim(first.jobs, 'install'), []);
  });

  fact('jobs of one dataset are claimed one at a time in the order of the lanes', async (t, { first }) => {
    await first.jobs.enqueue(
      LANES.map((lane) => request(lane, 'd1')),
      signal,
    );
    const order: LaneName[] = [];
    for (const expected of LANES) {
      const found = (await Promise.all(LANES.map((lane) => claim(first.jobs, lane)))).flat();
      order.push(...found.map((job) => job.lane));
      for (const job of found) await complete(first.jobs, job, { kind: 'done' });
      t.same(order.at(-1), expected);
    }
    t.same(order, LANES);
  });

  fact('a delayed job holds back those after it, a dead one does not', async (t, { first }) => {
    await first.jobs.enqueue([request('import', 'd1'), request('install', 'd1')], signal);
    const job = await claimOne(first.jobs, 'import');
    await complete(first.jobs, job, { kind: 'retry', delayMs: 0, message: 'busy', countsAttempt: true });
    t.same(await claim(first.jobs, 'install'), []);
    await complete(first.jobs, await claimOne(first.jobs, 'import'), {
      kind: 'dead',
      failure: 'defect',
      message: 'broken',
    });
    t.same(datasets(await claim(first.jobs, 'install')), ['d1']);
  });

  fact('a job that waits for a target holds back no other', async (t, { first }) => {
    await first.jobs.enqueue([request('updateMeta', 'd1'), request('install', 'd1')], signal);
    const job = await claimOne(first.jobs, 'updateMeta');
    t.same(await claim(first.jobs, 'install'), [], 'while it runs, the order holds');
    await complete(first.jobs, job, { kind: 'retry', delayMs: 60_000, message: 'target away', countsAttempt: false });
    t.same(datasets(await claim(first.jobs, 'install')), ['d1']);
  });

  fact('a job whose plugin is away holds back no job that needs none', async (t, { first, addToCatalog }) => {
    await addToCatalog('d1' as DatasetId, { name: 'one', version: '1.0' });
    await first.jobs.enqueue([request('updateMeta', 'd1'), request('sharing', 'd1')], signal);
    await first.jobs.enqueue([request('import', 'd2'), request('sharing', 'd2')], signal);
    await addToCatalog('d3' as DatasetId, { name: 'one', version: '1.0' });
    await first.jobs.enqueue([request('import', 'd3'), request('sharing', 'd3')], signal);
    const share = (unreachableTypes: readonly string[]) =>
      first.jobs.completeAndFetch([], claimOf('sharing', 10, { unreachableTypes }), signal);
    t.same(await share(['two:1.0']), []);
    t.same(datasets(await share(['one:1.0'])), ['d1'], 'an import goes first whatever the plugin does');
  });

  fact('a dataset whose lease somebody holds is left alone', async (t, { first, second }) => {
    const lease = await second.leases.acquire('d1', signal);
    await first.jobs.enqueue([request('import', 'd1'), request('import', 'd2')], signal);
    t.same(datasets(await claim(first.jobs, 'import')), ['d2']);
    if (lease) await second.leases.release(lease, signal);
    t.same(datasets(await claim(first.jobs, 'import')), ['d1']);
    t.equal(await second.leases.acquire('d1', signal), undefined, 'a claim holds the lease');
  });

  fact('of two processes that race for a dataset one gets it', async (t, { first, second }) => {
    for (let round = 0; round < 5; round++) {
      const dataset = `d${round}`;
      await first.jobs.enqueue([request('import', dataset), request('sharing', dataset)], signal);
      const found = await Promise.all([
        claim(first.jobs, 'import'),
        claim(second.jobs, 'import'),
        claim(first.jobs, 'sharing'),
        claim(second.jobs, 'sharing'),
        second.leases.acquire(dataset, signal),
      ]);
      t.equal(found.flat().filter((one) => one !== undefined).length, 1, dataset);
    }
  });

  fact('5,001 jobs are claimed exactly once by two processes', async (t, { first, second }) => {
    // One more than a statement of the adapter enqueues.
    const names = Array.from({ length: 5_001 }, (_, i) => `d${i}`);
    await first.jobs.enqueue(
      names.map((dataset) => request('install', dataset)),
      signal,
    );
    const drain = async ({ jobs }: { readonly jobs: Jobs }): Promise<string[]> => {
      const seen: string[] = [];
      let claimed = await claim(jobs, 'install', 500);
      while (claimed.length > 0) {
        seen.push(...datasets(claimed));
        const done = claimed.map((job) => ({ job, outcome: { kind: 'done' } as const }));
        claimed = await jobs.completeAndFetch(done, claimOf('install', 500), signal);
      }
      return seen;
    };
    const seen = (await Promise.all([drain(first), drain(second)])).flat();
    t.same(seen.sort(), names.sort());
    t.same(
      (await first.jobs.depths(signal)).find((depth) => depth.lane === 'install'),
      { lane: 'install', queued: 0, running: 0, delayed: 0, dead: 0, oldestMs: 0 },
    );
  });

  fact('crowded types come last, blocked types not at all', async (t, { first, advance, addToCatalog }) => {
    const types = { a: 'one', b: 'one', c: 'two', d: 'three' };
    for (const [dataset, type] of Object.entries(types))
      await addToCatalog(dataset as DatasetId, { name: type, version: '1.0' });
    for (const dataset of [...Object.keys(types), 'e']) {
      await first.jobs.enqueue([request('import', dataset)], signal);
      await advance(1);
    }
    const found = await first.jobs.completeAndFetch(
      [],
      claimOf('import', 4, { crowdedTypes: ['one:1.0'], blockedTypes: ['three:1.0'] }),
      signal,
    );
    t.same(
      found.map((job) => [job.dataset, job.type]),
      [
        ['c', 'two:1.0'],
        ['e', undefined],
        ['a', 'one:1.0'],
        ['b', 'one:1.0'],
      ],
    );
    t.same(await first.jobs.completeAndFetch([], claimOf('import', 4, { blockedTypes: ['three:1.0'] }), signal), []);
    t.same(datasets(await claim(first.jobs, 'import')), ['d']);
  });

  fact('jobs of crowded owners come last, those of withheld ones not at all', async (t, { first, second, advance }) => {
    const ownerOf = (n: number): UserId => String(n) as UserId;
    const owners = { a: 1, b: 1, c: 1, d: 2, e: 3, f: 2, g: 4 };
    for (const [dataset, owner] of Object.entries(owners)) {
      await first.jobs.enqueue([{ ...request('import', dataset), owner: ownerOf(owner) }], signal);
      await advance(1);
    }
    const found = async ({ jobs }: typeof first, limit: number, crowded: number[], withheld: number[]) => {
      const more = { crowdedOwners: crowded.map(ownerOf), withheldOwners: withheld.map(ownerOf) };
      return datasets(await jobs.completeAndFetch([], claimOf('import', limit, more), signal));
    };
    t.same(await found(first, 1, [1], [2]), ['e'], 'not the oldest');
    t.same(await found(first, 2, [1], [2, 4]), ['a', 'b'], 'only when no others wait');
    t.same(await found(second, 9, [], [1, 2]), ['g'], 'in any process');
    t.same(await found(second, 9, [], [1, 2]), []);
    t.same((await found(second, 9, [1], [])).toSorted(), ['c', 'd', 'f']);
  });

  fact('a claim gives no owner more than its share, and wakes the lane for the rest', async (t, { first, advance }) => {
    for (const [n, owner] of [1, 1, 1, 1, 2, 2, 1, 3].entries()) {
      await first.jobs.enqueue([{ ...request('import', `d${n}`), owner: String(owner) as UserId }], signal);
      await advance(1);
    }
    let woken = Promise.withResolvers<void>();
    const stop = first.jobs.watch('import', () => woken.resolve());
    const found = async (limit: number, more: Partial<ClaimRequest>) =>
      datasets(await first.jobs.completeAndFetch([], claimOf('import', limit, more), signal)).toSorted();
    const [one, two] = ['1', '2'] as UserId[] as [UserId, UserId];
    await woken.promise;
    woken = Promise.withResolvers();
    t.same(await found(6, { ownerShare: { most: 3, held: { [one]: 1, [two]: 2 } } }), ['d0', 'd1', 'd4']);
    await woken.promise;
    stop();
    const full = { ownerShare: { most: 3, held: { [one]: 2, [two]: 3 } }, withheldOwners: [two] };
    t.same(await found(6, full), ['d2', 'd7'], 'where owners take turns, too');
    t.same(await found(6, {}), ['d3', 'd5', 'd6']);
  });

  fact('a lane is woken as long as its claims leave jobs behind that it may have', async (t, { first }) => {
    let woken = Promise.withResolvers<void>();
    const stop = first.jobs.watch('import', () => woken.resolve());
    const all = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    await first.jobs.enqueue(
      all.map((dataset) => request('import', dataset)),
      signal,
    );
    await woken.promise;
    const found: string[] = [];
    // With an owner that comes last, another gets half of the places.
    const more = { crowdedOwners: ['77' as UserId] };
    for (;;) {
      woken = Promise.withResolvers();
      found.push(...datasets(await first.jobs.completeAndFetch([], claimOf('import', 4, more), signal)));
      if (found.length === all.length) break;
      await woken.promise;
    }
    stop();
    t.same(found.toSorted(), all);
  });

  fact('a limit leaves crowded types for later', async (t, { first, addToCatalog }) => {
    await addToCatalog('a' as DatasetId, { name: 'one', version: '1.0' });
    await first.jobs.enqueue([request('import', 'a')], signal);
    await first.jobs.enqueue([request('import', 'b')], signal);
    t.same(
      datasets(await first.jobs.completeAndFetch([], claimOf('import', 1, { crowdedTypes: ['one:1.0'] }), signal)),
      ['b'],
    );
  });

  fact('events of a waiting job coalesce into the newest', async (t, { first, view }) => {
    await first.jobs.enqueue(
      [request('import', 'd1', 5), request('import', 'd1', 7), request('import', 'd1', 6)],
      signal,
    );
    await first.jobs.enqueue([request('import', 'd1', 4, 'admin')], signal);
    t.same(await view(), [{ ...fresh('import', 'd1'), eventId: 7 }]);
    const job = await claimOne(first.jobs, 'import');
    t.same([job.eventId, job.source], [7, 'api']);
    await complete(first.jobs, job, { kind: 'done' });
    t.same(await view(), []);
  });

  fact('an event that comes while the job runs runs it again', async (t, { first, second, view }) => {
    await first.jobs.enqueue([request('import', 'd1', 1)], signal);
    const job = await claimOne(first.jobs, 'import');
    await second.jobs.enqueue([request('import', 'd1', 2)], signal);
    await second.jobs.enqueue([request('import', 'd1', 3)], signal);
    t.same(await view(), [{ ...fresh('import', 'd1'), state: 'running', again: true, eventId: 3 }]);
    await complete(first.jobs, job, { kind: 'done' });
    t.same(await view(), [{ ...fresh('import', 'd1'), eventId: 3 }]);
    const next = await claimOne(second.jobs, 'import');
    t.same([next.eventId, next.id, next.lease], [3, job.id, leaseAfter(job.lease)]);
    await complete(second.jobs, next, { kind: 'done' });
    t.same(await view(), []);
  });

  fact('a job enqueued after a look and before the watch is not missed', async (t, { first, second }) => {
    t.same(await claim(first.jobs, 'import'), []);
    await second.jobs.enqueue([request('import', 'd1')], signal);
    const woken = Promise.withResolvers<void>();
    const stop = first.jobs.watch('import', () => woken.resolve());
    await woken.promise;
    stop();
    t.same(datasets(await claim(first.jobs, 'import')), ['d1']);
  });

  fact('an idle lane is woken by a job that another process enqueues', async (t, { first, second }) => {
    const found = claimWhenWoken(first.jobs, 'import');
    await second.jobs.enqueue([request('import', 'd1')], signal);
    t.same(datasets(await found), ['d1']);
  });

  fact('a lane is woken when the job before its own is over', async (t, { first, second }) => {
    for (let round = 0; round < 2; round++) {
      await first.jobs.enqueue([request('import', `d${round}`), request('install', `d${round}`)], signal);
      const job = await claimOne(first.jobs, 'import');
      const found = claimWhenWoken(second.jobs, 'install');
      await complete(first.jobs, job, { kind: 'done' });
      t.same(datasets(await found), [`d${round}`]);
    }
  });

  fact('a lane is woken when a lease that its job needs is released', async (t, { first, second }) => {
    const lease = await second.leases.acquire('d1', signal);
    await first.jobs.enqueue([request('import', 'd1')], signal);
    const found = claimWhenWoken(first.jobs, 'import');
    if (lease) await second.leases.release(lease, signal);
    t.same(datasets(await found), ['d1']);
  });

  fact('a lane is woken when its delayed job falls due', async (t, { first, second, advance }) => {
    const job = await claimed(first.jobs, 'import', 'd1');
    await complete(first.jobs, job, { kind: 'retry', delayMs: 10_000, message: 'busy', countsAttempt: true });
    // Neither the process that delayed it nor one that has only seen it must be told by anybody.
    const wakes = [first, second].map(({ jobs }) => claimOnAlarm(jobs));
    t.same(await Promise.all(wakes.map(({ watching }) => watching)), [[], []]);
    await advance(10_500);
    const found = await Promise.all(wakes.map(({ alarmed }) => alarmed));
    t.same(datasets(found.flat()), ['d1']);
  });

  fact('depths name every lane', async (t, { first, advance }) => {
    await first.jobs.enqueue(
      ['a', 'b', 'c', 'd'].map((dataset) => request('sharing', dataset)),
      signal,
    );
    const [one, two] = await claim(first.jobs, 'sharing', 3);
    if (!one || !two) throw new Error('three jobs should be claimed');
    await complete(first.jobs, one, { kind: 'dead', failure: 'rejected', message: 'no' });
    await complete(first.jobs, two, { kind: 'retry', delayMs: 60_000, message: 'no', countsAttempt: true });
    await advance(3_000);
    const depths = await first.jobs.depths(signal);
    t.same(
      depths.map(({ oldestMs, ...depth }) => depth),
      LANES.map((lane) =>
        lane === 'sharing'
          ? { lane, queued: 1, running: 1, delayed: 1, dead: 1 }
          : { lane, queued: 0, running: 0, delayed: 0, dead: 0 },
      ),
    );
    for (const { lane, oldestMs } of depths)
      t.ok(lane === 'sharing' ? oldestMs >= 3_000 && oldestMs < 30_000 : oldestMs === 0, `${lane} ${oldestMs}`);
  });
}

/** Watches, looks once, and looks again at the first wake after that. */
function claimOnAlarm(jobs: Jobs) {
  let woken = Promise.withResolvers<void>();
  const stop = jobs.watch('import', () => woken.resolve());
  const look = async (): Promise<readonly ClaimedJob[]> => {
    await woken.promise;
    woken = Promise.withResolvers();
    return claim(jobs, 'import');
  };
  const watching = look();
  return { watching, alarmed: watching.then(look).finally(stop) };
}

export const fresh = (lane: LaneName, dataset: string): JobView => ({
  lane,
  dataset,
  state: 'queued',
  eventId: 1,
  again: false,
  alone: false,
  attempts: 0,
  crashes: 0,
  failure: undefined,
  message: undefined,
});
