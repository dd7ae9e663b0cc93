// What becomes of a claimed job, in every implementation of the jobs port.

import t, { type Test } from 'tap';
import {
  claim,
  claimed,
  claimOf,
  claimOne,
  complete,
  fresh,
  type JobsUnderTest,
  type OpenJobs,
  request,
  signal,
} from './jobs.ts';
import { leaseAfter } from './leases.ts';

export function jobOutcomesConformance(name: string, open: OpenJobs): void {
  const fact = (what: string, check: (t: Test, under: JobsUnderTest) => Promise<void>): void => {
    t.test(`${name}: ${what}`, async (t) => check(t, await open(t)));
  };

  fact('completing and claiming are one call', async (t, { first }) => {
    const job = await claimed(first.jobs, 'import', 'd1');
    await first.jobs.enqueue([request('import', 'd2')], signal);
    const next = await first.jobs.completeAndFetch([{ job, outcome: { kind: 'done' } }], claimOf('import'), signal);
    t.same(
      next.map((one) => one.dataset),
      ['d2'],
    );
    t.same(await first.leases.acquire('d1', signal), leaseAfter(job.lease), 'the lease is released');
  });

  fact('the call that completes a job may be given it again', async (t, { first }) => {
    const job = await claimed(first.jobs, 'import', 'd1');
    await first.jobs.enqueue([request('import', 'd1', 2)], signal);
    const next = await first.jobs.completeAndFetch([{ job, outcome: { kind: 'done' } }], claimOf('import'), signal);
    t.same(
      next.map(({ eventId, lease }) => ({ eventId, lease })),
      [{ eventId: 2, lease: leaseAfter(job.lease) }],
    );
  });

  fact('a retry waits for its time and counts a try when told to', async (t, { first, advance, view }) => {
    const retry = { kind: 'retry', delayMs: 10_000, message: 'plugin busy' } as const;
    await complete(first.jobs, await claimed(first.jobs, 'import', 'd1'), { ...retry, countsAttempt: true });
    const delayed = { ...fresh('import', 'd1'), state: 'delayed', failure: 'transient', message: 'plugin busy' };
    t.same(await view(), [{ ...delayed, attempts: 1 }]);
    t.same(await claim(first.jobs, 'import'), []);
    await advance(10_500);
    const job = await claimOne(first.jobs, 'import');
    t.equal(job.attempts, 1);
    await complete(first.jobs, job, { ...retry, countsAttempt: false });
    t.same(await view(), [{ ...delayed, attempts: 1 }]);
  });

  fact('an event for a delayed job does not hurry it', async (t, { first, view }) => {
    const job = await claimed(first.jobs, 'import', 'd1');
    await complete(first.jobs, job, { kind: 'retry', delayMs: 60_000, message: 'busy', countsAttempt: true });
    await first.jobs.enqueue([request('import', 'd1', 9)], signal);
    t.same(await claim(first.jobs, 'import'), []);
    t.same(await view(), [
      { ...fresh('import', 'd1'), state: 'delayed', eventId: 9, attempts: 1, failure: 'transient', message: 'busy' },
    ]);
  });

  fact('a success with a newer event starts with fresh attempts', async (t, { first, view }) => {
    const failing = await claimed(first.jobs, 'import', 'd1');
    await complete(first.jobs, failing, { kind: 'retry', delayMs: 0, message: 'busy', countsAttempt: true });
    const job = await claimOne(first.jobs, 'import');
    await first.jobs.enqueue([request('import', 'd1', 2)], signal);
    await complete(first.jobs, job, { kind: 'done' });
    t.same(await view(), [{ ...fresh('import', 'd1'), eventId: 2 }]);
  });

  fact('a dead job stays for an administrator and only notes events', async (t, { first, view }) => {
    const job = await claimed(first.jobs, 'import', 'd1');
    await complete(first.jobs, job, { kind: 'dead', failure: 'transient', message: 'gave up \0 here' });
    const dead = { ...fresh('import', 'd1'), state: 'dead', attempts: 1, failure: 'transient' };
    t.match(await view(), [{ ...dead, message: /^gave up . here$/ }]);
    await first.jobs.enqueue([request('import', 'd1', 2)], signal);
    t.match(await view(), [{ ...dead, eventId: 2, again: true, message: /^gave up . here$/ }]);
    t.same(await claim(first.jobs, 'import'), []);
  });

  fact('what is put back is claimed as it was, before younger jobs', async (t, { first, advance, view }) => {
    await first.jobs.enqueue([request('import', 'd1')], signal);
    await advance(10);
    await first.jobs.enqueue([request('import', 'd2')], signal);
    const [job] = await claim(first.jobs, 'import', 1);
    if (!job) throw new Error('a job should be claimed');
    await complete(first.jobs, job, { kind: 'requeue', crashed: false });
    t.same(await view(), [fresh('import', 'd1'), fresh('import', 'd2')]);
    t.same(
      (await claim(first.jobs, 'import')).map((one) => one.dataset),
      ['d1', 'd2'],
    );
  });

  fact('a job whose thread dies runs alone, and is dead after three deaths alone', async (t, { first, view }) => {
    await first.jobs.enqueue([request('import', 'd1')], signal);
    const seen: unknown[] = [];
    for (let round = 0; round < 4; round++) {
      const job = await claimOne(first.jobs, 'import');
      seen.push([job.alone, job.crashes]);
      await complete(first.jobs, job, { kind: 'requeue', crashed: true });
    }
    t.same(seen, [
      [false, 0],
      [true, 0],
      [true, 1],
      [true, 2],
    ]);
    t.same(await view(), [
      {
        ...fresh('import', 'd1'),
        state: 'dead',
        alone: true,
        crashes: 3,
        failure: 'defect',
        message: 'its worker crashed 3 times while the job ran alone',
      },
    ]);
  });

  fact('a run alone that ends without a crash is company again', async (t, { first, view }) => {
    await complete(first.jobs, await claimed(first.jobs, 'import', 'd1'), { kind: 'requeue', crashed: true });
    const alone = await claimOne(first.jobs, 'import');
    await complete(first.jobs, alone, { kind: 'retry', delayMs: 0, message: 'busy', countsAttempt: true });
    t.same(
      (await view()).map((row) => [row.alone, row.crashes]),
      [[false, 0]],
    );
  });

  fact('the job of a dead process is claimed at once, without blame', async (t, { first, second, killSecond }) => {
    await first.jobs.enqueue([request('import', 'd1'), request('install', 'd1')], signal);
    const job = await claimOne(second.jobs, 'import');
    t.same(await claim(first.jobs, 'import'), []);
    await killSecond();
    t.same(await claim(first.jobs, 'install'), [], 'the order of the lanes holds');
    const next = await claimOne(first.jobs, 'import');
    t.same({ ...next, waitedMs: 0 }, { ...job, lease: leaseAfter(job.lease), waitedMs: 0 });
  });

  fact(
    'a job whose lease expired is claimed by another process, and its first holder is fenced off',
    async (t, under) => {
      const { first, second, advance, view } = under;
      const lost = await claimed(first.jobs, 'import', 'd1');
      await advance(31_000);
      const job = await claimOne(second.jobs, 'import');
      t.same(job.lease, leaseAfter(lost.lease));
      for (const outcome of [
        { kind: 'done' },
        { kind: 'dead', failure: 'defect', message: 'late' },
        { kind: 'requeue', crashed: true },
      ] as const)
        await complete(first.jobs, lost, outcome);
      t.same(await view(), [{ ...fresh('import', 'd1'), state: 'running' }]);
      t.equal(await first.leases.acquire('d1', signal), undefined);
      await complete(second.jobs, job, { kind: 'done' });
      t.same(await view(), []);
    },
  );

  fact('a job whose lease is renewed stays with its process', async (t, { first, second, advance }) => {
    const job = await claimed(first.jobs, 'import', 'd1');
    for (let i = 0; i < 4; i++) {
      await advance(10_000);
      t.same(await first.leases.renew([job.lease], signal), []);
    }
    t.same(await claim(second.jobs, 'import'), []);
  });

  fact('an expired lease that nobody took still lets its job be completed', async (t, { first, advance, view }) => {
    const job = await claimed(first.jobs, 'import', 'd1');
    await advance(31_000);
    t.same(await first.jobs.completeAndFetch([{ job, outcome: { kind: 'done' } }], claimOf('import'), signal), []);
    t.same(await view(), []);
  });

  fact('a completion given twice is written once', async (t, { first, view }) => {
    const job = await claimed(first.jobs, 'import', 'd1');
    for (const _ of ['once', 'twice'])
      await complete(first.jobs, job, { kind: 'retry', delayMs: 60_000, message: 'busy', countsAttempt: true });
    t.equal((await view())[0]?.attempts, 1);
  });
}
