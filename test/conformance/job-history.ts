// What every history of datasets does, with the job table that writes it.

import t, { type Test } from 'tap';
import type { DatasetId, TargetId } from '../../engine/model/ids.ts';
import type { AttemptRecord, HistoryEntry, HistoryPageOptions, JobHistory } from '../../engine/ports/job-history.ts';
import type { JobAdmin } from '../../engine/ports/jobs.ts';
import { claimed, claimOf, claimOne, complete, type JobsUnderTest, request, signal } from './jobs.ts';

export interface HistoryUnderTest extends Pick<JobsUnderTest, 'first' | 'second' | 'killSecond' | 'advance'> {
  readonly history: JobHistory;
  readonly admin: Pick<JobAdmin, 'retry'>;
  /** Of the two processes. */
  readonly instances: readonly [number, number];
}

export type OpenHistory = (t: Test) => Promise<HistoryUnderTest>;

const DONE: AttemptRecord = { outcome: 'done', attempt: 1, ms: 12 };

export function jobHistoryConformance(name: string, open: OpenHistory): void {
  const all = async (
    { history }: HistoryUnderTest,
    dataset: string,
    options: Partial<HistoryPageOptions> = {},
  ): Promise<readonly HistoryEntry[]> => {
    const entries: HistoryEntry[] = [];
    for (let next: HistoryPageOptions['after'] | 'begin' = 'begin'; next !== undefined; ) {
      const after: Pick<HistoryPageOptions, 'after'> = next === 'begin' ? {} : { after: next };
      const asked = { limit: 100, order: 'oldest-first', ...options, ...after } as const;
      const page = await history.page(dataset as DatasetId, asked, signal);
      entries.push(...page.entries);
      next = page.next;
    }
    return entries;
  };
  const outcomes = (entries: readonly HistoryEntry[]): readonly string[] => entries.map(({ outcome }) => outcome);

  /** A number of attempts of one dataset, one after the other; those after the first are retries. */
  async function attempts({ first }: HistoryUnderTest, dataset: string, count: number, text = ''): Promise<void> {
    await first.jobs.enqueue([request('import', dataset)], signal);
    let [job] = await first.jobs.completeAndFetch([], claimOf('import'), signal);
    for (let attempt = 1; job; attempt++) {
      const record = { outcome: 'retry', attempt, ms: 1, message: `no ${attempt}${text}` } as const;
      const retry = { kind: 'retry', delayMs: 0, message: 'no', countsAttempt: true, record } as const;
      const over = { kind: 'done', record: { ...DONE, attempt } } as const;
      const outcome = attempt < count ? retry : over;
      [job] = await first.jobs.completeAndFetch([{ job, outcome }], claimOf('import'), signal);
    }
  }

  t.test(`${name}: an attempt is kept as its process wrote it, with the completion`, async (t) => {
    const world = await open(t);
    const record: AttemptRecord = {
      ...{ outcome: 'failed', attempt: 3, ms: 1234, message: 'exit code 7 \0 \ud800 "ü"' },
      calls: [
        { call: 'import-dataset', plugin: 'genelist', ms: 1_200, outcome: 'script-error', exitCode: 7, output: 'a\nb' },
        { call: 'install-data', target: 'Alpha' as TargetId, ms: 3, outcome: 'error', message: 'connection refused' },
      ],
    };
    const job = await claimed(world.first.jobs, 'import', 'set');
    await complete(world.first.jobs, job, { kind: 'done', record });
    const [entry, ...more] = await all(world, 'set');
    t.same(more, []);
    if (!entry) throw new Error('no entry');
    const { at, number, process, message, ...rest } = entry;
    t.match({ at, number }, { at: Number, number: Number });
    t.match(process, { instance: world.instances[0], host: String, pid: Number, started: Date });
    t.ok(message?.startsWith('exit code 7 ') && message.endsWith(' "ü"'), 'odd characters cost nothing else');
    const { message: _message, ...written } = record;
    t.strictSame(rest, { ...written, lane: 'import', job: job.id, eventId: 1 });
  });

  t.test(`${name}: no record, no entry; a completion that is sent again, or too late, leaves none`, async (t) => {
    const world = await open(t);
    const { first, second } = world;
    const quiet = await claimed(first.jobs, 'install', 'quiet');
    await complete(first.jobs, quiet, { kind: 'done' });
    t.same(await all(world, 'quiet'), []);
    const job = await claimed(first.jobs, 'import', 'set');
    const completion = { job, outcome: { kind: 'done', record: DONE } } as const;
    await first.jobs.completeAndFetch([completion], claimOf('import', 0), signal);
    await first.jobs.completeAndFetch([completion], claimOf('import', 0), signal);
    await complete(second.jobs, job, { kind: 'done', record: DONE });
    t.same(outcomes(await all(world, 'set')), ['done']);
  });

  t.test(`${name}: while a job waits for the same reason, that is told once`, async (t) => {
    const world = await open(t);
    const { jobs } = world.first;
    const away = { kind: 'retry', delayMs: 0, message: 'target away', countsAttempt: false } as const;
    await jobs.enqueue([request('install', 'set')], signal);
    for (const outcome of [away, away, { ...away, message: 'plugin away' }, away, { ...away, countsAttempt: true }])
      await complete(jobs, await claimOne(jobs, 'install'), {
        ...outcome,
        record: { ...DONE, outcome: 'retry', message: outcome.message },
      });
    t.same(
      (await all(world, 'set')).map(({ message }) => message),
      ['target away', 'plugin away', 'target away', 'target away'],
    );
  });

  t.test(`${name}: an attempt whose process died gets its entry when the job is claimed again`, async (t) => {
    const world = await open(t);
    const { first, second } = world;
    const lost = await claimed(second.jobs, 'install', 'set');
    await world.killSecond();
    t.same(await all(world, 'set'), []);
    const again = await claimOne(first.jobs, 'install');
    t.equal(again.id, lost.id);
    await complete(first.jobs, again, { kind: 'done', record: DONE });
    const entries = await all(world, 'set');
    t.same(outcomes(entries), ['process-died', 'done']);
    t.match(entries[0], { lane: 'install', job: lost.id, attempt: 1, process: { instance: world.instances[1] } });
  });

  t.test(`${name}: so does one whose lease expired while its process lives; its own end is not kept`, async (t) => {
    const world = await open(t);
    const { first, second } = world;
    const lost = await claimed(second.jobs, 'install', 'set');
    await world.advance(31_000);
    const again = await claimOne(first.jobs, 'install');
    await complete(second.jobs, lost, { kind: 'done', record: DONE });
    t.same(outcomes(await all(world, 'set')), ['lease-lost']);
    await complete(first.jobs, again, { kind: 'done', record: DONE });
    t.same(outcomes(await all(world, 'set')), ['lease-lost', 'done']);
  });

  t.test(`${name}: an operator's retry is an entry; a retry of a job that is queued is none`, async (t) => {
    const world = await open(t);
    const { first, admin } = world;
    const job = await claimed(first.jobs, 'import', 'set');
    const dead: AttemptRecord = { ...DONE, outcome: 'dead', message: 'a bug' };
    await complete(first.jobs, job, { kind: 'dead', failure: 'defect', message: 'a bug', record: dead });
    t.equal(await admin.retry(job.id, signal), 'queued');
    t.equal(await admin.retry(job.id, signal), 'queued');
    const entries = await all(world, 'set');
    t.same(outcomes(entries), ['dead', 'retried']);
    t.match(entries[1], { lane: 'import', job: job.id, process: undefined, attempt: undefined });
  });

  t.test(`${name}: pages of either order hold each entry once, and those of one dataset only`, async (t) => {
    const world = await open(t);
    await attempts(world, 'other', 3);
    await attempts(world, 'set', 7);
    const whole = await all(world, 'set');
    t.same(outcomes(whole), ['retry', 'retry', 'retry', 'retry', 'retry', 'retry', 'done']);
    for (const limit of [1, 2, 3, 7, 8])
      for (const order of ['oldest-first', 'newest-first'] as const) {
        const expected = order === 'oldest-first' ? whole : whole.toReversed();
        t.strictSame(await all(world, 'set', { limit, order }), expected, `${order}, ${limit}`);
      }
    t.same(await all(world, 'absent'), []);
    const full = await world.history.page('set' as DatasetId, { limit: 7, order: 'newest-first' }, signal);
    t.equal(full.entries.length, 7);
    t.equal(full.next, undefined, 'a full last page has no next page');
  });

  t.test(`${name}: a page ends at 256 KiB; an entry has a page even so`, async (t) => {
    const world = await open(t);
    await attempts(world, 'set', 4, 'x'.repeat(200_000));
    const page = await world.history.page('set' as DatasetId, { limit: 100, order: 'oldest-first' }, signal);
    t.equal(page.entries.length, 1);
    t.equal((await all(world, 'set')).length, 4);
  });

  t.test(`${name}: the newest 1,000 entries of a dataset are kept`, async (t) => {
    const world = await open(t);
    await attempts(world, 'other', 2);
    await attempts(world, 'set', 1_003);
    const kept = await all(world, 'set', { limit: 2_000 });
    t.equal(kept.length, 1_000);
    t.match([kept[0], kept.at(-1)], [{ attempt: 4 }, { attempt: 1_003, outcome: 'done' }]);
    t.equal((await all(world, 'other')).length, 2);
  });

  t.test(`${name}: entries are removed by age, of all datasets`, async (t) => {
    const world = await open(t);
    const held = await claimed(world.second.jobs, 'install', 'set');
    await attempts(world, 'old', 3);
    await world.advance(2);
    await new Promise((resolve) => setImmediate(resolve));
    await complete(world.second.jobs, held, { kind: 'done', record: DONE });
    const [newest] = await all(world, 'set');
    if (!newest) throw new Error('no entry');
    const { at } = newest;
    const old = await all(world, 'old');
    const before = old.filter((entry) => entry.at < at).length;
    t.equal(await world.history.dropBefore(at, signal), before);
    t.equal((await all(world, 'old')).length, old.length - before);
    t.equal(await world.history.dropBefore(at + 1, signal), old.length - before + 1);
    t.same([...(await all(world, 'set')), ...(await all(world, 'old'))], []);
  });
}
