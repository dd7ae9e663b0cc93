// What every ReportQueue and ReportExpiry does.

import type { Test } from 'tap';
import { newTraceparent } from '../../engine/model/traceparent.ts';
import type { ReportDebris } from '../../engine/ports/report-jobs.ts';
import {
  again,
  all,
  at,
  claim,
  claimOne,
  complete,
  end,
  failed,
  idOf,
  type ReportWorld,
  requestOf,
  rulesAt,
  run,
  signal,
  submit,
  tenantOf,
} from './report-world.ts';

export function reportQueueConformance(t: Test, setup: (t: Test) => Promise<ReportWorld>): void {
  const jobOf = async ({ first }: ReportWorld, n: number) =>
    (await first.jobs.read(idOf(n), undefined, at(0), signal))?.job;

  t.test('jobs are claimed once, those that waited longest first', async (t) => {
    const world = await setup(t);
    await submit(world.first, 3, 1);
    await submit(world.first, 2, 1);
    await submit(world.first, 1, 2);
    t.strictSame(await world.second.queue.completeAndFetch([], { limit: 2 }, at(5), signal), [
      { ...requestOf(2), attempt: 1, attempts: 0, waitedMs: 4_000, tenant: tenantOf(7) },
      { ...requestOf(3), attempt: 1, attempts: 0, waitedMs: 4_000, tenant: tenantOf(7) },
    ]);
    t.strictSame(await claim(world.first, 5, 0), []);
    t.match(await claim(world.first, 5), [{ id: idOf(1), waitedMs: 3_000 }]);
    t.strictSame(await claim(world.first, 5), []);
    t.match(await jobOf(world, 3), { status: 'in-progress', started: at(5), attempt: 1 });
  });

  t.test('tenants take turns, the one with the fewest running first', async (t) => {
    const { first, second } = await setup(t);
    const queued = (tenant: number, ...ns: readonly number[]) =>
      Promise.all(
        ns.map((n) => first.jobs.submit(requestOf(n), undefined, rulesAt(n, { tenant: tenantOf(tenant) }), signal)),
      );
    await queued(1, ...Array.from({ length: 90 }, (_, i) => i + 1));
    t.match(await claim(first, 100, 2), [{ id: idOf(1) }, { id: idOf(2) }]);
    await queued(2, 91, 92);
    await queued(3, 93);
    t.match(
      await claim(second, 100, 5),
      [91, 93, 92, 3, 4].map((n) => ({ id: idOf(n) })),
      'in any process',
    );
  });

  t.test('no job of a withheld tenant is claimed', async (t) => {
    const { first } = await setup(t);
    for (const [n, tenant] of [1, 1, 2, 1, 2].entries())
      await first.jobs.submit(requestOf(n), undefined, rulesAt(n, { tenant: tenantOf(tenant) }), signal);
    const claimed = await first.queue.completeAndFetch([], { limit: 9, withheld: [tenantOf(1)] }, at(9), signal);
    t.match(claimed, [{ id: idOf(2) }, { id: idOf(4) }]);
    t.equal(claimed.length, 2);
  });

  t.test('what two ask for waits no longer than the one with fewer jobs would', async (t) => {
    const { first } = await setup(t);
    const ask = (n: number, tenant: number) =>
      first.jobs.submit(requestOf(n), undefined, rulesAt(n, { tenant: tenantOf(tenant) }), signal);
    for (let n = 1; n <= 20; n++) await ask(n, 1);
    t.equal(await ask(20, 2), 'known');
    t.equal(await ask(19, 1), 'known');
    t.match(await claim(first, 30, 2), [
      { id: idOf(1), tenant: tenantOf(1) },
      { id: idOf(20), tenant: tenantOf(2) },
    ]);
    await ask(30, 3);
    for (const n of [31, 32]) await ask(n, 4);
    t.equal(await ask(30, 4), 'known');
    t.match(
      await claim(first, 40, 1),
      [{ id: idOf(30), tenant: tenantOf(3) }],
      'never is it taken into a longer queue',
    );
  });

  t.test('a claim has the trace of the request for which the job waits', async (t) => {
    const { first, second } = await setup(t);
    const [one, two] = [newTraceparent(), newTraceparent()];
    await first.jobs.submit(requestOf(1), undefined, rulesAt(0, { traceparent: one }), signal);
    t.equal(await second.jobs.submit(requestOf(1), undefined, rulesAt(1, { traceparent: two }), signal), 'known');
    const claimed = await claimOne(second, 1);
    t.equal(claimed.traceparent, one);
    await end(second, claimed, complete(2), 2);
    await first.expiry.expireOne(idOf(1), signal);
    t.equal(await first.jobs.requeue(idOf(1), rulesAt(3, { traceparent: two }), signal), 'queued');
    t.match(await claim(first, 3), [{ id: idOf(1), traceparent: two }]);
  });

  t.test('processes that claim at once get different jobs', async (t) => {
    const { first, second } = await setup(t);
    for (let n = 1; n <= 20; n++) await submit(first, n);
    const claims = await Promise.all([first, second, first, second].map((process) => claim(process, 0, 5)));
    const ids = claims.flat().map(({ id }) => id);
    t.equal(new Set(ids).size, ids.length);
    // One that was passed over because another had it in hand waits for the next look.
    ids.push(...(await claim(first, 0, 20)).map(({ id }) => id));
    t.equal(new Set(ids).size, 20);
  });

  t.test('a job that comes again does so from its time, with its attempts', async (t) => {
    const world = await setup(t);
    const { first } = world;
    await submit(first, 1);
    const comesAgain = async (seconds: number, countsAttempt: boolean) => {
      const one = await claimOne(first, seconds);
      const done = [{ claim: one, outcome: again(seconds + 10, countsAttempt) }];
      t.strictSame(await first.queue.completeAndFetch(done, { limit: 5 }, at(seconds), signal), []);
      t.match(await jobOf(world, 1), { status: 'queued', ended: undefined, failure: undefined });
      return one;
    };
    t.match(await comesAgain(0, true), { attempt: 1, attempts: 0 });
    t.strictSame(await claim(first, 9), []);
    t.match(await comesAgain(10, false), { attempt: 2, attempts: 1 });
    t.match(await comesAgain(20, true), { attempt: 3, attempts: 1 });
    t.match(await claim(first, 30), [{ attempt: 4, attempts: 2, waitedMs: 0 }]);
  });

  t.test('the job of a process that died is queued in its old place', async (t) => {
    const world = await setup(t);
    await submit(world.first, 1, 0);
    const [lost] = await claim(world.second, 1);
    await submit(world.first, 2, 1);
    t.match(await claim(world.first, 2, 1), [{ id: idOf(2) }]);
    await submit(world.first, 3, 1);
    t.strictSame(await claim(world.first, 3, 0), []);
    t.equal((await jobOf(world, 1))?.status, 'in-progress');
    await world.killSecond();
    t.match(await claim(world.first, 3, 1), [{ id: idOf(1), attempt: 2, attempts: 0, waitedMs: 3_000 }]);
    t.equal(lost?.attempt, 1);
    t.match(await claim(world.first, 3), [{ id: idOf(3) }]);
  });

  t.test('whoever lets the lease pass has lost the job', async (t) => {
    const world = await setup(t);
    const { first, second } = world;
    await submit(first, 1);
    const late = await claimOne(first, 0);
    t.strictSame(await first.queue.renew([late], signal), []);
    t.strictSame(await second.queue.renew([late], signal), [late], "another's");
    await world.lapse();
    t.strictSame(await first.queue.renew([late], signal), [], 'nobody took it');
    t.strictSame(await claim(second, 1), []);
    await world.lapse();
    const next = await claimOne(second, 1);
    t.equal(next.attempt, 2);
    t.strictSame(await first.queue.renew([late], signal), [late]);
    for (const outcome of [complete(2), failed(2), again(0, true)]) {
      t.strictSame(await first.queue.completeAndFetch([{ claim: late, outcome }], { limit: 5 }, at(2), signal), []);
      t.match(await jobOf(world, 1), { status: 'in-progress', attempt: 2 });
    }
    t.strictSame(await all(first.jobs.files(idOf(1), signal)), []);
    await end(second, next, complete(3), 3);
    t.match(await jobOf(world, 1), { status: 'complete', ended: at(3) });
  });

  t.test('an outcome that is written twice counts once', async (t) => {
    const world = await setup(t);
    const { first } = world;
    const one = await run(first, 1, complete(1));
    await end(first, one, failed(2), 2);
    t.match(await jobOf(world, 1), { status: 'complete', ended: at(1) });
    t.strictSame(await first.queue.renew([one], signal), [one]);
  });

  t.test('a lane is woken by what may be claimed', async (t) => {
    const { first, second } = await setup(t);
    const woken = Promise.withResolvers<void>();
    t.teardown(second.queue.watch(() => woken.resolve()));
    await submit(first, 1);
    await woken.promise;
    const one = await claimOne(first, 0);
    const anew = Promise.withResolvers<void>();
    const stop = second.queue.watch(() => anew.resolve());
    await end(first, one, again(0, false), 0);
    await anew.promise;
    stop();
  });

  t.test('one job expires on demand, once it has ended', async (t) => {
    const world = await setup(t);
    const { first, second } = world;
    const expire = (n: number) => second.expiry.expireOne(idOf(n), signal);
    t.equal(await expire(1), 'absent');
    await run(first, 1, complete(0));
    await run(first, 2, failed(0));
    await submit(first, 3);
    t.equal(await expire(3), 'running');
    await claim(first, 0);
    t.equal(await expire(3), 'running');
    t.strictSame(await Promise.all([expire(1), expire(1), expire(2)]), ['expired', 'expired', 'expired']);
    t.match(await jobOf(world, 1), { status: 'expired', ended: undefined });
    t.match(await jobOf(world, 2), { status: 'expired', failure: undefined });
    t.strictSame(await all(first.jobs.files(idOf(1), signal)), []);
    t.equal(await first.jobs.stderr(idOf(2), signal), undefined);
    const left = [1, 2].map((n) => ({ id: idOf(n), upTo: 1 }));
    t.strictSame(await first.expiry.debris(undefined, 10, signal), left);
    t.match(await jobOf(world, 3), { status: 'in-progress' });
  });

  t.test('what nobody has accessed for long expires, the longest first', async (t) => {
    const world = await setup(t);
    const { first } = world;
    const expire = (seconds: number, limit = 10) => first.expiry.expire(at(seconds), limit, signal);
    await run(first, 1, complete(10), 1);
    await run(first, 2, failed(20), 11);
    await run(first, 3, complete(30), 21);
    await submit(first, 4);
    t.equal(await expire(9), 0);
    await first.jobs.read(idOf(1), undefined, at(200), signal);
    t.equal(await expire(100, 1), 1);
    t.match(await jobOf(world, 2), { status: 'expired', ended: undefined, failure: undefined });
    t.equal((await jobOf(world, 3))?.status, 'complete');
    t.equal(await expire(199), 1);
    t.equal(await expire(199), 0);
    t.match(await jobOf(world, 3), { ...requestOf(3), status: 'expired', attempt: 1 });
    t.equal((await jobOf(world, 1))?.status, 'complete');
    t.equal(await expire(10 ** 9), 1);
    t.equal((await jobOf(world, 4))?.status, 'queued');
  });

  t.test('what ended attempts left is told until it was removed', async (t) => {
    const world = await setup(t);
    const { first, second } = world;
    const debris = () => second.expiry.debris(undefined, 10, signal);
    await run(first, 1, complete(1));
    t.strictSame(await debris(), []);
    await run(first, 2, failed(1), 1);
    t.strictSame(await debris(), [{ id: idOf(2), upTo: 1 }]);
    await first.expiry.expire(at(1), 10, signal);
    const [one, two] = [1, 2].map((n) => ({ id: idOf(n), upTo: 1 })) as [ReportDebris, ReportDebris];
    t.strictSame(await debris(), [one, two]);
    t.strictSame(await second.expiry.debris(undefined, 1, signal), [one]);
    t.strictSame(await second.expiry.debris(idOf(1), 9, signal), [two]);
    await second.expiry.removed(two, signal);
    t.strictSame(await debris(), [one]);
    // Queued again while its files are being removed: those of the new attempt are not meant.
    t.equal(await first.jobs.requeue(idOf(1), rulesAt(2), signal), 'queued');
    const anew = await claimOne(first, 2);
    t.strictSame(await debris(), [one]);
    await end(first, anew, again(2, false), 2);
    await second.expiry.removed(one, signal);
    t.strictSame(await debris(), [{ id: idOf(1), upTo: 2 }]);
    await second.expiry.removed({ id: idOf(1), upTo: 2 }, signal);
    const [cut] = await claim(second, 3);
    t.equal(cut?.attempt, 3);
    await second.expiry.removed({ id: idOf(1), upTo: 2 }, signal);
    await world.killSecond();
    t.match(await claim(first, 4), [{ attempt: 4 }]);
    t.strictSame(
      await first.expiry.debris(undefined, 10, signal),
      [{ id: idOf(1), upTo: 3 }],
      'of a process that died',
    );
  });
}
