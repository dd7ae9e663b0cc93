// What every ReportJobs does.

import type { Test } from 'tap';
import {
  all,
  at,
  claim,
  claimOne,
  complete,
  end,
  FAILURE,
  FILES,
  failed,
  idOf,
  type ReportWorld,
  requestOf,
  rulesAt,
  run,
  signal,
  submit,
  tenantOf,
  userOf,
} from './report-world.ts';

const ADA = userOf('9223372036854775807');

export function reportJobsConformance(t: Test, setup: (t: Test) => Promise<ReportWorld>): void {
  const statusOf = async ({ first }: ReportWorld, n: number, seconds = 0) =>
    (await first.jobs.read(idOf(n), undefined, at(seconds), signal))?.job.status;

  const fact = (what: string, check: (t: Test, world: ReportWorld) => Promise<void>): void => {
    t.test(what, async (t) => check(t, await setup(t)));
  };

  fact('a submitted job is there with all that it is made of', async (t, { first, second }) => {
    await submit(first, 1, 5);
    t.strictSame(await second.jobs.read(idOf(1), undefined, at(6), signal), {
      job: {
        ...requestOf(1),
        status: 'queued',
        created: at(5),
        started: undefined,
        ended: undefined,
        accessed: at(5),
        attempt: 0,
        failure: undefined,
      },
      meta: undefined,
    });
    t.equal(await first.jobs.read(idOf(2), undefined, at(6), signal), undefined);
  });

  fact('fifty submissions of one job at once are one job', async (t, { first, second }) => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => {
        const link = { user: userOf(i + 1), meta: {} };
        return (i % 2 ? first : second).jobs.submit(requestOf(1), link, rulesAt(0), signal);
      }),
    );
    t.equal(answers.filter((answer) => answer === 'queued').length, 1);
    t.equal(answers.filter((answer) => answer === 'known').length, 49);
    const claims = await Promise.all([claim(first, 0), claim(second, 0)]);
    t.equal(claims.flat().length, 1);
  });

  fact('a job that waits, runs or is complete stays as it is when it is submitted again', async (t, { first }) => {
    const again = (seconds: number) => first.jobs.submit(requestOf(1), undefined, rulesAt(seconds), signal);
    await submit(first, 1);
    t.equal(await again(1), 'known');
    const one = await claimOne(first, 2);
    t.equal(await again(3), 'known');
    await end(first, one, complete(4), 4);
    t.equal(await again(1_000), 'known');
    t.match((await first.jobs.read(idOf(1), undefined, at(1_001), signal))?.job, {
      status: 'complete',
      attempt: 1,
      started: at(2),
      ended: at(4),
      accessed: at(1_000),
      failure: undefined,
    });
  });

  t.test('a failed job runs again once it failed long enough ago', async (t) => {
    const world = await setup(t);
    const { first } = world;
    await run(first, 1, failed(10), 10);
    t.equal(await first.jobs.submit(requestOf(1), undefined, rulesAt(69), signal), 'known');
    t.match((await first.jobs.read(idOf(1), undefined, at(69), signal))?.job, { status: 'failed', failure: FAILURE });
    t.equal(await first.jobs.submit(requestOf(1), undefined, rulesAt(70), signal), 'queued');
    t.match((await first.jobs.read(idOf(1), undefined, at(70), signal))?.job, {
      status: 'queued',
      failure: undefined,
      ended: undefined,
      started: undefined,
      attempt: 1,
      created: at(10),
    });
    t.equal(await first.jobs.stderr(idOf(1), signal), undefined);
    t.match(await claim(first, 70), [{ id: idOf(1), attempt: 2, attempts: 0 }]);
  });

  t.test('one too many is refused, and leaves nothing behind', async (t) => {
    const world = await setup(t);
    const { first, second } = world;
    const rules = rulesAt(0, { maxQueued: 3 });
    const submitted = (n: number, { jobs } = first) =>
      jobs.submit(requestOf(n), { user: ADA, meta: {} }, rules, signal);
    const answers = await Promise.all([1, 2, 3, 4, 5].map((n) => submitted(n, n % 2 ? first : second)));
    t.strictSame(answers.toSorted(), ['full', 'full', 'queued', 'queued', 'queued']);
    const refused = answers.indexOf('full') + 1;
    t.equal(await first.jobs.read(idOf(refused), undefined, at(0), signal), undefined);
    // One that waits already needs no place.
    const waiting = answers.indexOf('queued') + 1;
    t.equal(await submitted(waiting), 'known');
    t.equal((await claim(first, 1, 1)).length, 1);
    t.equal(await submitted(refused, second), 'queued', 'running ones do not count');
    t.equal(await statusOf(world, refused), 'queued');
  });

  t.test('one too many of a tenant is refused, and others are not', async (t) => {
    const { first } = await setup(t);
    const ask = (n: number, tenant: number) =>
      first.jobs.submit(
        requestOf(n),
        undefined,
        rulesAt(0, { maxQueuedPerTenant: 2, tenant: tenantOf(tenant) }),
        signal,
      );
    t.strictSame([await ask(1, 1), await ask(2, 1), await ask(3, 1)], ['queued', 'queued', 'share-full']);
    t.equal(await first.jobs.read(idOf(3), undefined, at(0), signal), undefined, 'nothing is left behind');
    t.equal(await ask(3, 2), 'queued');
    t.equal(await ask(1, 1), 'known', 'one that waits already needs no place');
    const claimed = await claimOne(first, 1);
    t.equal(claimed.id, idOf(1));
    t.equal(await ask(4, 1), 'queued', 'running ones do not count');
    await end(first, claimed, complete(1), 1);
    t.equal(await first.expiry.expireOne(idOf(1), signal), 'expired');
    const rules = rulesAt(1, { maxQueuedPerTenant: 2, tenant: tenantOf(1) });
    t.equal(await first.jobs.requeue(idOf(1), rules, signal), 'share-full');
  });

  t.test('only an expired job is queued on request', async (t) => {
    const world = await setup(t);
    const { first } = world;
    const requeue = (n: number, maxQueued = 100) => first.jobs.requeue(idOf(n), rulesAt(500, { maxQueued }), signal);
    t.equal(await requeue(1), 'absent');
    await run(first, 1, complete(0));
    t.equal(await requeue(1), 'refused');
    await run(first, 2, failed(0));
    t.equal(await requeue(2), 'refused');
    t.equal(await first.expiry.expire(at(0), 10, signal), 2);
    await submit(first, 3);
    t.equal(await requeue(3), 'refused');
    t.equal(await requeue(1, 1), 'full');
    t.equal(await statusOf(world, 1), 'expired');
    const answers = await Promise.all([requeue(1), requeue(1), requeue(1)]);
    t.strictSame(answers.toSorted(), ['queued', 'refused', 'refused']);
    t.equal(await first.jobs.submit(requestOf(2), undefined, rulesAt(501), signal), 'queued', 'by a submission, too');
    t.match(await claim(first, 501), [{ id: idOf(3) }, { id: idOf(1), attempt: 2 }, { id: idOf(2), attempt: 2 }]);
  });

  fact('accesses are noted to the minute', async (t, { first }) => {
    await submit(first, 1);
    const accessed = async (seconds: number) =>
      (await first.jobs.read(idOf(1), undefined, at(seconds), signal))?.job.accessed;
    t.strictSame(await accessed(60), at(0));
    t.strictSame(await accessed(60), at(0));
    await accessed(61);
    t.strictSame(await accessed(61), at(61));
    await accessed(5);
    t.strictSame(await accessed(61), at(61), 'a late reader does not turn time back');
  });

  fact('the files of a complete job are told one by one, those of others not', async (t, { first, second }) => {
    t.strictSame(await all(first.jobs.files(idOf(1), signal)), []);
    await run(first, 1, complete(1), 0);
    await run(first, 2, failed(1), 1);
    const listed = FILES.map(({ name, size }) => ({ name, size }));
    t.strictSame(await all(second.jobs.files(idOf(1), signal)), listed);
    for (const file of FILES) t.strictSame(await second.jobs.file(idOf(1), file.name, signal), file);
    for (const name of ['', 'report', 'Report.zip', '../report.zip', 'report.zip\0', '%'])
      t.equal(await second.jobs.file(idOf(1), name, signal), undefined, name);
    t.strictSame(await all(first.jobs.files(idOf(2), signal)), []);
    t.equal(await first.jobs.file(idOf(2), 'report.zip', signal), undefined);
    await first.expiry.expire(at(100), 10, signal);
    t.strictSame(await all(second.jobs.files(idOf(1), signal)), []);
    t.equal(await second.jobs.file(idOf(1), 'report.zip', signal), undefined);
  });

  fact('thousands of files keep their order', async (t, { first }) => {
    const files = Array.from({ length: 2_500 }, (_, n) => ({ name: `report_${2_500 - n}.json`, size: n }));
    await run(first, 1, complete(1, files));
    t.strictSame(await all(first.jobs.files(idOf(1), signal)), files);
  });

  fact('what the formatter said is kept until the job expires', async (t, { first }) => {
    t.equal(await first.jobs.stderr(idOf(1), signal), undefined);
    await run(first, 1, complete(0));
    await run(first, 2, failed(0));
    t.match(await first.jobs.stderr(idOf(1), signal), /^Warning: .$/);
    t.equal(await first.jobs.stderr(idOf(2), signal), `BLAST Database error\n${FAILURE}\n`);
    await first.expiry.expire(at(1), 10, signal);
    for (const n of [1, 2]) t.equal(await first.jobs.stderr(idOf(n), signal), undefined);
  });

  fact('the statuses of many jobs are told at once, of those that there are', async (t, { first, second }) => {
    await run(first, 1, complete(0));
    await run(first, 2, failed(0));
    await submit(first, 3, 1);
    t.strictSame(
      await second.jobs.statuses([idOf(3), idOf(4), idOf(1), idOf(2), idOf(1)], signal),
      new Map([
        [idOf(1), 'complete'],
        [idOf(2), 'failed'],
        [idOf(3), 'queued'],
      ]),
    );
    t.strictSame(await second.jobs.statuses([], signal), new Map());
  });

  fact('jobs that failed are listed with the reason, until they run again or expire', async (t, { first, second }) => {
    for (const n of [2, 1, 3]) await run(first, n, failed(n), n);
    await run(first, 4, complete(4), 4);
    const job = (n: number) => ({ ...requestOf(n), created: at(n), ended: at(n), failure: FAILURE });
    t.strictSame(await all(second.jobs.failed(signal)), [job(1), job(2), job(3)]);
    await first.jobs.submit(requestOf(1), undefined, rulesAt(100), signal);
    await first.expiry.expire(at(2), 10, signal);
    t.strictSame(await all(second.jobs.failed(signal)), [job(3)]);
  });

  fact('an aborted signal is heeded', async (t, { first }) => {
    const over = AbortSignal.abort(new Error('over'));
    await t.rejects(first.jobs.read(idOf(1), undefined, at(0), over), { message: 'over' });
    await t.rejects(first.jobs.submit(requestOf(1), undefined, rulesAt(0), over), { message: 'over' });
    await t.rejects(first.queue.completeAndFetch([], { limit: 1 }, at(0), over), { message: 'over' });
    await t.rejects(all(first.jobs.files(idOf(1), over)), { message: 'over' });
  });
}
