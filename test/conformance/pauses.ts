// What every implementation of the pauses port does.

import t, { type Test } from 'tap';
import type { DatasetId } from '../../engine/model/ids.ts';
import type { Jobs } from '../../engine/ports/jobs.ts';
import type { PauseOrder, PausePlace, Pauses } from '../../engine/ports/pauses.ts';
import { claim, claimed, claimWhenWoken, complete, request, signal } from './jobs.ts';

export interface PausesUnderTest {
  readonly pauses: Pauses;
  /** The same table, seen by another process, which also has the lanes. */
  readonly other: Pauses;
  readonly jobs: Jobs;
  /** Lets so much time pass for pauses that end by themselves. */
  advance(ms: number): Promise<void>;
}

export type OpenPauses = (t: Test) => Promise<PausesUnderTest>;

const SITE: PausePlace = { kind: 'target', name: 'PlasmoSite' };
const order = (place: PausePlace, more: Partial<PauseOrder> = {}): PauseOrder => ({
  ...place,
  by: 'user 42',
  reason: undefined,
  until: undefined,
  ...more,
});
const inHours = (hours: number): Date => new Date(Date.now() + hours * 3_600_000);

/** A job that was put back because of the pause. */
async function putBack({ jobs, other }: PausesUnderTest, place: PausePlace, dataset: string): Promise<void> {
  const job = await claimed(jobs, 'install', dataset);
  await other.wait({ ...place, lane: 'install', dataset: job.dataset }, signal);
  await complete(jobs, job, { kind: 'retry', delayMs: 3_600_000, message: 'paused', countsAttempt: false });
}

export function pausesConformance(name: string, open: OpenPauses): void {
  const fact = (what: string, check: (t: Test, under: PausesUnderTest) => Promise<void>): void => {
    t.test(`${name}: ${what}`, async (t) => check(t, await open(t)));
  };

  fact('a pause is listed in every process until it is ended', async (t, { pauses, other }) => {
    t.same(await pauses.list(signal), []);
    const until = inHours(2);
    const site = await pauses.set(order(SITE, { reason: 'new disks', until }), signal);
    t.match(site, { ...SITE, by: 'user 42', reason: 'new disks', until });
    t.ok(site.since instanceof Date);
    const lane = await pauses.set(order({ kind: 'lane', name: 'import' }), signal);
    t.same(await other.list(signal), [lane, site], 'by kind and name');
    t.equal(await other.end(SITE, signal), true);
    t.equal(await pauses.end(SITE, signal), false, 'it is not paused any more');
    t.same(await pauses.list(signal), [lane]);
  });

  fact('a second order changes the pause, which keeps its begin', async (t, { pauses, other, advance }) => {
    const first = await pauses.set(order(SITE), signal);
    await advance(5_000);
    const second = await other.set(order(SITE, { by: 'user 43', reason: 'longer' }), signal);
    t.same(second, { ...first, by: 'user 43', reason: 'longer' });
    t.same(await pauses.list(signal), [second]);
  });

  fact('a pause ends by itself when its time is over', async (t, { pauses, advance }) => {
    const first = await pauses.set(order(SITE, { until: inHours(1) }), signal);
    await advance(3_601_000);
    t.same(await pauses.list(signal), []);
    t.equal(await pauses.end(SITE, signal), false);
    await pauses.set(order(SITE, { until: inHours(1) }), signal);
    await advance(3_601_000);
    const next = await pauses.set(order(SITE), signal);
    t.ok(next.since > first.since, 'another pause, with its own begin');
  });

  fact('every process hears of each change', async (t, { pauses, other }) => {
    let heard = Promise.withResolvers<void>();
    const stop = other.watch(() => heard.resolve());
    t.teardown(stop);
    await heard.promise;
    heard = Promise.withResolvers();
    await pauses.set(order(SITE), signal);
    await heard.promise;
    heard = Promise.withResolvers();
    await pauses.end(SITE, signal);
    await heard.promise;
  });

  fact('what waited for a pause is due when it is over, in order, and nothing else is', async (t, under) => {
    const { pauses, jobs } = under;
    const elsewhere: PausePlace = { kind: 'target', name: 'ToxoSite' };
    await pauses.set(order(SITE), signal);
    await pauses.set(order(elsewhere), signal);
    for (const dataset of ['d3', 'd1', 'd2']) await putBack(under, SITE, dataset);
    await putBack(under, elsewhere, 'd4');
    const late = await claimed(jobs, 'install', 'd5');
    await complete(jobs, late, { kind: 'retry', delayMs: 3_600_000, message: 'attempt 1 of 12', countsAttempt: true });
    t.equal(await pauses.release(signal), 0, 'both pauses are in force');
    t.same(await claim(jobs, 'install'), []);
    await pauses.end(SITE, signal);
    const woken = claimWhenWoken(jobs, 'install');
    t.equal(await pauses.release(signal), 3);
    const due = await woken;
    t.same(
      due.map(({ dataset, attempts }) => [dataset, attempts]),
      [
        ['d3', 0],
        ['d1', 0],
        ['d2', 0],
      ],
    );
    t.equal(await pauses.release(signal), 0, 'once');
  });

  fact('what waited for a pause whose time is over is due, too', async (t, under) => {
    await under.pauses.set(order(SITE, { until: inHours(0.5) }), signal);
    await putBack(under, SITE, 'd1');
    await under.advance(1_801_000);
    t.equal(await under.pauses.release(signal), 1);
  });

  fact('a job that still runs when the pause ends is not forgotten', async (t, { pauses, jobs }) => {
    await pauses.set(order(SITE), signal);
    const job = await claimed(jobs, 'install', 'd1');
    await pauses.wait({ ...SITE, lane: 'install', dataset: job.dataset }, signal);
    await pauses.end(SITE, signal);
    t.equal(await pauses.release(signal), 0);
    await complete(jobs, job, { kind: 'retry', delayMs: 3_600_000, message: 'paused', countsAttempt: false });
    t.equal(await pauses.release(signal), 1);
  });

  fact(
    'a new request for a job that waits for a pause makes it due, and for other delayed jobs does not',
    async (t, under) => {
      const { pauses, jobs } = under;
      await pauses.set(order(SITE), signal);
      await putBack(under, SITE, 'd1');
      const late = await claimed(jobs, 'install', 'd2');
      await complete(jobs, late, {
        kind: 'retry',
        delayMs: 3_600_000,
        message: 'attempt 1 of 12',
        countsAttempt: true,
      });
      const woken = claimWhenWoken(jobs, 'install');
      await jobs.enqueue([request('install', 'd2'), request('install', 'd1')], signal);
      t.same(
        (await woken).map(({ dataset }) => dataset),
        ['d1'],
      );
    },
  );

  fact('a request that arrives while the job is put back because of a pause is not delayed', async (t, under) => {
    const { pauses, jobs } = under;
    await pauses.set(order(SITE), signal);
    const job = await claimed(jobs, 'install', 'd1');
    await pauses.wait({ ...SITE, lane: 'install', dataset: job.dataset }, signal);
    await jobs.enqueue([request('install', 'd1')], signal);
    const paused = { kind: 'retry', delayMs: 3_600_000, message: 'paused', countsAttempt: false } as const;
    await complete(jobs, job, paused);
    const [again] = await claim(jobs, 'install');
    t.equal(again?.dataset, 'd1');
    if (again) await complete(jobs, again, paused);
    t.same(await claim(jobs, 'install'), [], 'once');
  });

  fact('a wait without a job, or repeated, is harmless', async (t, { pauses }) => {
    await pauses.set(order(SITE), signal);
    const waiting = { ...SITE, lane: 'sharing', dataset: 'gone' as DatasetId } as const;
    await pauses.wait(waiting, signal);
    await pauses.wait(waiting, signal);
    await pauses.end(SITE, signal);
    t.equal(await pauses.release(signal), 0);
  });

  fact('an aborted signal keeps it from being called', async (t, { pauses }) => {
    const over = AbortSignal.abort();
    await t.rejects(pauses.list(over), { name: 'AbortError' });
    await t.rejects(pauses.set(order(SITE), over), { name: 'AbortError' });
    await t.rejects(pauses.end(SITE, over), { name: 'AbortError' });
    await t.rejects(pauses.release(over), { name: 'AbortError' });
    t.same(await pauses.list(signal), []);
  });
}
