// What every implementation of the job-cancels port does.

import t, { type Test } from 'tap';
import type { CancelRequest, JobCancels } from '../../engine/ports/job-cancels.ts';
import type { Jobs } from '../../engine/ports/jobs.ts';
import { claimed, complete, request, signal } from './jobs.ts';

interface CancelProcess {
  readonly cancels: JobCancels;
  readonly jobs: Jobs;
}

export interface JobCancelsUnderTest {
  readonly first: CancelProcess;
  readonly second: CancelProcess;
  /** The second process ends without completing or releasing anything. */
  killSecond(): Promise<void>;
}

export type OpenJobCancels = (t: Test) => Promise<JobCancelsUnderTest>;

const order = (job: number) => ({ job, by: 'user 42', reason: 'wrong "data"', hard: true });

/** What the process hears from now on, and how to wait for it. */
function listening(t: Test, { cancels }: CancelProcess) {
  const heard: CancelRequest[] = [];
  let next = Promise.withResolvers<void>();
  t.teardown(
    cancels.watch((request) => {
      heard.push(request);
      next.resolve();
      next = Promise.withResolvers();
    }),
  );
  return { heard, next: () => next.promise };
}

export function jobCancelsConformance(name: string, open: OpenJobCancels): void {
  const fact = (what: string, check: (t: Test, under: JobCancelsUnderTest) => Promise<void>): void => {
    t.test(`${name}: ${what}`, async (t) => check(t, await open(t)));
  };

  fact('the process that runs the job hears of the order, and no other', async (t, { first, second }) => {
    const [one, two] = [listening(t, first), listening(t, second)];
    const job = await claimed(second.jobs, 'import', 'd1');
    const own = await claimed(first.jobs, 'import', 'd2');
    const heard = two.next();
    t.equal(await first.cancels.ask(order(job.id), signal), 'asked');
    await heard;
    t.same(two.heard, [{ ...order(job.id), token: job.lease.token }]);
    const heardOwn = one.next();
    t.equal(await first.cancels.ask({ ...order(own.id), reason: undefined, hard: false }, signal), 'asked');
    await heardOwn;
    t.same(one.heard, [{ job: own.id, by: 'user 42', reason: undefined, hard: false, token: own.lease.token }]);
    t.equal(two.heard.length, 1);
  });

  fact('only a running job can be cancelled', async (t, { first, second }) => {
    const job = await claimed(first.jobs, 'import', 'd1');
    await complete(first.jobs, job, { kind: 'retry', delayMs: 600_000, message: 'busy', countsAttempt: true });
    t.equal(await second.cancels.ask(order(job.id), signal), 'not-running', 'it is delayed');
    const dead = await claimed(first.jobs, 'import', 'd2');
    await complete(first.jobs, dead, { kind: 'dead', failure: 'defect', message: 'a bug' });
    t.equal(await second.cancels.ask(order(dead.id), signal), 'not-running', 'it is dead');
    const gone = await claimed(first.jobs, 'import', 'd3');
    await complete(first.jobs, gone, { kind: 'done' });
    t.equal(await second.cancels.ask(order(gone.id), signal), 'not-found', 'it has ended');
    await t.rejects(first.cancels.ask(order(dead.id), AbortSignal.abort()), { name: 'AbortError' });
  });

  fact('the job of a process that died is not running', async (t, { first, second, killSecond }) => {
    const job = await claimed(second.jobs, 'import', 'd1');
    await killSecond();
    t.equal(await first.cancels.ask(order(job.id), signal), 'not-running');
    await first.jobs.enqueue([request('import', 'd1', 2)], signal);
  });
}
