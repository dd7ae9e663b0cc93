// What becomes of a claimed job, in every implementation of the jobs port.

import t, { type Test } from 'tap';
import type { DatasetId, UserId } from '../../engine/model/ids.ts';
import type { ClaimedJob } from '../../engine/ports/jobs.ts';
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

const DATASET = 'd1' as DatasetId;
const PLACE = { lane: 'install', last: false } as const;

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

  fact(
    'the job that follows is handed over with a completion that has a place for it',
    async (t, { first, ...under }) => {
      await under.addToCatalog(DATASET, { name: 'genes', version: '1.0' });
      await first.jobs.enqueue([request('import', DATASET, 1), request('install', DATASET, 2)], signal);
      const job = await claimOne(first.jobs, 'import');
      const done = { job, outcome: { kind: 'done' }, next: { lane: 'install', last: true } } as const;
      await first.jobs.enqueue([request('import', 'd2')], signal);
      const got = await first.jobs.completeAndFetch([done], claimOf('import'), signal);
      t.same(
        got.map(({ lane, dataset, eventId, waitedMs }) => ({ lane, dataset, eventId, waitedMs })),
        [
          { lane: 'import', dataset: 'd2', eventId: 1, waitedMs: got[0]?.waitedMs },
          { lane: 'install', dataset: DATASET, eventId: 2, waitedMs: 0 },
        ],
      );
      const handed = got[1];
      t.same(handed?.lease, leaseAfter(job.lease), 'with the lease');
      t.same(await under.second.leases.acquire(DATASET, signal), undefined);
      t.same(await first.jobs.completeAndFetch([done], claimOf('install'), signal), [], 'once');
      if (handed) await complete(first.jobs, handed, { kind: 'done' });
      t.match(await under.view(), [{ lane: 'import', dataset: 'd2' }]);
    },
  );

  fact('nothing is handed over to the last in a lane in which others are due', async (t, { first, ...under }) => {
    await under.addToCatalog(DATASET, { name: 'genes', version: '1.0' });
    await first.jobs.enqueue(
      [request('import', DATASET), request('install', DATASET), request('install', 'd2')],
      signal,
    );
    const job = await claimOne(first.jobs, 'import');
    const done = { job, outcome: { kind: 'done' }, next: { lane: 'install', last: true } } as const;
    t.same(await first.jobs.completeAndFetch([done], claimOf('import', 0), signal), []);
    t.same((await claim(first.jobs, 'install')).map(({ dataset }) => dataset).sort(), [DATASET, 'd2']);
  });

  fact('a job that is handed over to a process that dies is claimed by another', async (t, { first, ...under }) => {
    await under.addToCatalog(DATASET, { name: 'genes', version: '1.0' });
    await first.jobs.enqueue([request('import', DATASET), request('install', DATASET)], signal);
    const job = await claimOne(under.second.jobs, 'import');
    const done = { job, outcome: { kind: 'done' }, next: PLACE } as const;
    const [handed] = await under.second.jobs.completeAndFetch([done], claimOf('import', 0), signal);
    t.match(handed, { lane: 'install', dataset: DATASET });
    t.same(await claim(first.jobs, 'install'), []);
    await under.killSecond();
    t.match(await claimOne(first.jobs, 'install'), { dataset: DATASET, crashes: 0 });
  });

  fact('only the next job of a dataset is handed over, for its owner and type', async (t, { first, ...under }) => {
    const another = '5' as UserId;
    const cases: Record<string, (job: ClaimedJob) => Promise<ClaimedJob>> = {
      'another job comes first': async (job) => {
        await first.jobs.enqueue([request('softDelete', job.dataset)], signal);
        return job;
      },
      'the same job comes again': async (job) => {
        await first.jobs.enqueue([request('import', job.dataset, 9)], signal);
        return job;
      },
      'its owner is another one': async (job) => ({ ...job, owner: another }),
      'its type is another one': async (job) => ({ ...job, type: 'reads:1.0' }),
      'the lease was lost': async (job) => ({ ...job, lease: leaseAfter(job.lease) }),
    };
    for (const [i, [why, change]] of Object.entries(cases).entries()) {
      const dataset = `d${i}` as DatasetId;
      await under.addToCatalog(dataset, { name: 'genes', version: '1.0' });
      await first.jobs.enqueue([request('import', dataset), request('install', dataset)], signal);
      const job = await change(await claimOne(first.jobs, 'import'));
      const done = { job, outcome: { kind: 'done' }, next: PLACE } as const;
      t.same(await first.jobs.completeAndFetch([done], claimOf('import', 0), signal), [], why);
      const waits = (await under.view()).find((row) => row.dataset === dataset && row.lane === 'install');
      t.equal(waits?.state, 'queued', why);
      for (const lane of ['softDelete', 'import', 'install'] as const)
        for (const left of await claim(first.jobs, lane)) await complete(first.jobs, left, { kind: 'done' });
    }
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

  fact(
    'a job that failed, or whose data are invalid, leaves the table, and a newer event requests it again',
    async (t, { first, view }) => {
      const fault = { message: 'script ended with exit code 7', exitCode: 7, output: 'no \0 room' };
      for (const kind of ['failed', 'invalid'] as const) {
        await complete(first.jobs, await claimed(first.jobs, 'import', 'd1'), { kind, ...fault });
        t.same(await view(), [], kind);
        const job = await claimed(first.jobs, 'import', 'd1');
        await first.jobs.enqueue([request('import', 'd1', 2)], signal);
        await complete(first.jobs, job, { kind, ...fault });
        t.same(await view(), [{ ...fresh('import', 'd1'), eventId: 2 }], kind);
        await complete(first.jobs, await claimOne(first.jobs, 'import'), { kind: 'done' });
      }
    },
  );

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
