// What every HandlerJobs and HandlerStatistics does.

import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import { parseUserId } from '../../engine/model/ids.ts';
import {
  type HandlerJobs,
  type HandlerMove,
  type HandlerStatistics,
  type NewHandlerJob,
  NO_COUNTS,
} from '../../engine/ports/handler-jobs.ts';

export interface HandlerJobsWorld {
  readonly first: HandlerJobs;
  /** Of another process on the same records. */
  readonly second: HandlerJobs;
  killSecond(): Promise<void>;
}

const signal = new AbortController().signal;
/** Seconds after some instant. */
const at = (seconds: number): Date => new Date(Date.UTC(2026, 0, 1) + seconds * 1000);
const owner = parseUserId('9223372036854775807');

const RESULT = {
  ...{ fileName: 'dataset_u5_x.tgz', bytes: 77, expires: at(100) },
  digest: { etag: 'e-1', sha256: '0123456789abcdef'.repeat(4) },
};
const FAILED = { to: 'failed', ended: at(30), message: 'it broke', expires: at(300) } as const;
const COMPLETED = {
  to: 'completed',
  ended: at(30),
  result: RESULT,
  expires: at(300),
} as const;

export function handlerJobsConformance(t: Test, setup: (t: Test) => Promise<HandlerJobsWorld>): void {
  const newJob = (jobId: string): NewHandlerJob => {
    if (!owner) throw new Error('no user id');
    return {
      id: randomUUID(),
      jobId,
      registration: {
        projects: ['AlphaDB', 'BetaDB'],
        owner,
        name: 'Zoë <<cwd>>',
        description: 'a\nb',
        summary: '',
        origin: 'galaxy',
        handlerParams: { k: '1' },
      },
      created: at(0),
      expires: at(86_400),
    };
  };
  /** Moves a new job as far as the state; the record then. */
  const reach = async (jobs: HandlerJobs, jobId: string, moves: readonly HandlerMove[]): Promise<NewHandlerJob> => {
    const job = newJob(jobId);
    if (!(await jobs.register(job, signal))) throw new Error('not registered');
    for (const move of moves) if (!(await jobs.move(job.id, move, signal))) throw new Error(`not moved to ${move.to}`);
    return job;
  };
  const UPLOADING: HandlerMove = { to: 'uploading', started: at(10) };
  const UNPACKING: HandlerMove = { to: 'unpacking', size: 2 ** 40 };
  const PROCESSING: HandlerMove = { to: 'processing' };

  const fact = (what: string, check: (t: Test, world: HandlerJobsWorld) => Promise<void>): void => {
    t.test(what, async (t) => check(t, await setup(t)));
  };

  fact('a registered job is found under any id until it expires', async (t, { first, second }) => {
    for (const jobId of ['a', '../../etc/passwd', "x'; drop table job --", '💩 ☃', 'A']) {
      const job = newJob(jobId);
      t.equal(await first.register(job, signal), true);
      const { expires: _expires, ...rest } = job;
      const none = { started: undefined, ended: undefined, result: undefined, message: undefined };
      t.strictSame(await second.find(jobId, at(86_399), signal), { ...rest, ...none, state: 'awaiting', size: 0 });
      t.equal(await second.find(jobId, at(86_400), signal), undefined);
    }
    t.equal(await first.find('b', at(0), signal), undefined);
  });

  fact('a job goes through its states, and every state is told', async (t, { first, second }) => {
    const job = await reach(first, 'walk', [UPLOADING]);
    t.match(await second.find('walk', at(10 ** 9), signal), { state: 'uploading', started: at(10), size: 0 });
    t.equal(await first.move(job.id, UNPACKING, signal), true);
    t.match(await second.find('walk', at(20), signal), { state: 'unpacking', size: 2 ** 40 });
    t.equal(await first.move(job.id, PROCESSING, signal), true);
    t.equal(await first.move(job.id, COMPLETED, signal), true);
    t.match(await second.find('walk', at(299), signal), {
      state: 'completed',
      started: at(10),
      ended: at(30),
      result: RESULT,
      message: undefined,
    });
    t.equal(await second.find('walk', at(300), signal), undefined);
    // As of earlier versions.
    const { digest: _digest, ...undigested } = RESULT;
    await reach(first, 'before', [UPLOADING, UNPACKING, PROCESSING, { ...COMPLETED, result: undigested }]);
    t.strictSame((await second.find('before', at(30), signal))?.result, undigested);
  });

  fact('results count for the owner of the job until they are removed', async (t, { first, second }) => {
    const stranger = parseUserId('7');
    if (!owner || !stranger) throw new Error('no user id');
    const nothing = { bytes: 0, nextExpiry: undefined };
    t.strictSame(await first.kept(owner, signal), nothing);
    const moves = [UPLOADING, UNPACKING, PROCESSING];
    const job = await reach(first, 'kept', [...moves, COMPLETED]);
    const later = { ...COMPLETED, result: { fileName: 'x.tgz', bytes: 2 ** 40, expires: at(200) } };
    await reach(first, 'large', [...moves, later]);
    await reach(second, 'runs', moves);
    t.strictSame(await second.kept(owner, signal), { bytes: 77 + 2 ** 40, nextExpiry: at(100) });
    t.strictSame(await second.kept(stranger, signal), nothing, 'to nobody else');
    await reach(second, 'kept', []);
    t.strictSame(
      await first.kept(owner, signal),
      { bytes: 77 + 2 ** 40, nextExpiry: at(100) },
      'of a job before it too',
    );
    await first.forget({ id: job.id, what: 'result' }, signal);
    t.strictSame(await first.kept(owner, signal), { bytes: 2 ** 40, nextExpiry: at(200) });
  });

  fact('moves that the states do not allow change nothing', async (t, { first }) => {
    const job = await reach(first, 'no', []);
    for (const move of [UNPACKING, PROCESSING, COMPLETED, FAILED] as const)
      t.equal(await first.move(job.id, move, signal), false, move.to);
    t.equal(await first.move(randomUUID(), UPLOADING, signal), false);
    t.match(await first.find('no', at(1), signal), { state: 'awaiting', size: 0 });
    t.equal(await first.move(job.id, UPLOADING, signal), true);
    t.equal(await first.move(job.id, UPLOADING, signal), false, 'the second of two uploads');
    t.equal(await first.move(job.id, FAILED, signal), true);
    t.equal(await first.move(job.id, COMPLETED, signal), false, 'an end is an end');
    t.match(await first.find('no', at(31), signal), { state: 'failed', message: 'it broke', ended: at(30) });
  });

  fact('a refused upload leaves the job as it was, with the reason', async (t, { first }) => {
    const refused: HandlerMove = { to: 'awaiting', message: 'no zip \0', expires: at(500) };
    const job = await reach(first, 'refused', [UPLOADING, UNPACKING, refused]);
    t.match(await first.find('refused', at(499), signal), { state: 'awaiting', size: 0, started: undefined });
    t.match((await first.find('refused', at(499), signal))?.message, /^no zip .$/);
    t.equal(await first.find('refused', at(500), signal), undefined);
    t.equal(await first.move(job.id, UPLOADING, signal), true);
    t.equal((await first.find('refused', at(499), signal))?.message, undefined);
  });

  fact('of two uploads at once one wins', async (t, { first, second }) => {
    const job = await reach(first, 'race', []);
    const won = await Promise.all([first, second, first, second].map((jobs) => jobs.move(job.id, UPLOADING, signal)));
    t.equal(won.filter(Boolean).length, 1);
  });

  fact('a registration takes the place of any job that does not run', async (t, { first, second }) => {
    const ends: readonly (readonly HandlerMove[])[] = [
      [],
      [UPLOADING, FAILED],
      [UPLOADING, UNPACKING, PROCESSING, COMPLETED],
    ];
    for (const [i, moves] of ends.entries()) {
      const before = await reach(first, `again ${i}`, moves);
      const next = newJob(`again ${i}`);
      t.equal(await second.register({ ...next, created: at(40) }, signal), true);
      t.match(await first.find(`again ${i}`, at(41), signal), { id: next.id, state: 'awaiting', result: undefined });
      t.strictSame(await first.due(at(40), 10, signal), [{ id: before.id, what: 'job' }]);
      t.equal(await first.move(before.id, UPLOADING, signal), false, 'the one before takes no upload any more');
      await first.forget({ id: before.id, what: 'job' }, signal);
      t.strictSame(await first.due(at(40), 10, signal), []);
    }
    for (const moves of [[UPLOADING], [UPLOADING, UNPACKING], [UPLOADING, UNPACKING, PROCESSING]]) {
      const running = await reach(first, `running ${moves.length}`, moves);
      t.equal(await second.register(newJob(running.jobId), signal), false);
      t.match(await first.find(running.jobId, at(20), signal), { id: running.id });
    }
  });

  fact('of two registrations at once the last counts, and neither fails', async (t, { first, second }) => {
    const jobs = Array.from({ length: 6 }, () => newJob('busy'));
    const done = await Promise.all(jobs.map((job, i) => (i % 2 ? first : second).register(job, signal)));
    t.strictSame(done, [true, true, true, true, true, true]);
    t.equal((await first.due(at(0), 10, signal)).length, 5);
  });

  fact('what is due comes in the order of its time, and is forgotten by part', async (t, { first }) => {
    const waiting = await reach(first, 'waiting', []);
    const done = await reach(first, 'done', [UPLOADING, UNPACKING, PROCESSING, COMPLETED]);
    const failed = await reach(first, 'failed', [UPLOADING, { ...FAILED, expires: at(90) }]);
    await reach(first, 'running', [UPLOADING]);
    t.strictSame(await first.due(at(89), 10, signal), []);
    const early = [
      { id: failed.id, what: 'job' },
      { id: done.id, what: 'result' },
    ] as const;
    t.strictSame(await first.due(at(100), 10, signal), early);
    t.strictSame(await first.due(at(100), 1, signal), early.slice(0, 1));
    await first.forget(early[1], signal);
    t.match(await first.find('done', at(100), signal), { state: 'completed', result: undefined });
    await first.forget(early[0], signal);
    t.strictSame(await first.due(at(299), 10, signal), []);
    t.strictSame(await first.due(at(10 ** 9), 10, signal), [
      { id: done.id, what: 'job' },
      { id: waiting.id, what: 'job' },
    ]);
  });

  fact('jobs of a dead process fail, those of living ones go on', async (t, { first, second, killSecond }) => {
    const ours = await reach(first, 'ours', [UPLOADING]);
    const theirs = await reach(second, 'theirs', [UPLOADING, UNPACKING]);
    t.equal(await first.move(theirs.id, PROCESSING, signal), false, "another process's");
    const end = { ended: at(30), message: 'the process died', expires: at(300) };
    t.strictSame(await first.failOrphans(end, signal), []);
    await killSecond();
    t.strictSame(await first.failOrphans(end, signal), [theirs.id]);
    t.strictSame(await first.failOrphans(end, signal), []);
    t.match(await first.find('theirs', at(31), signal), { state: 'failed', message: 'the process died' });
    t.match(await first.find('ours', at(31), signal), { id: ours.id, state: 'uploading' });
  });

  fact('an aborted signal is heeded', async (t, { first }) => {
    await t.rejects(first.find('a', at(0), AbortSignal.abort(new Error('over'))), { message: 'over' });
  });
}

export function handlerStatisticsConformance(t: Test, setup: (t: Test) => Promise<HandlerStatistics>): void {
  t.test('counts are added up and maxima kept', async (t) => {
    const statistics = await setup(t);
    t.strictSame(await statistics.read(signal), NO_COUNTS);
    const some = { uploads: 2, uploadedBytes: 2 ** 45, largest: 2 ** 44, runs: 1, runMs: 1500, longestMs: 1500 };
    await statistics.add({ ...some, byStatus: { 200: 3, 404: 1 } }, signal);
    await statistics.add({ ...NO_COUNTS, byStatus: { 500: 1, 200: 1 }, runs: 1, runMs: 500, longestMs: 500 }, signal);
    await statistics.add(NO_COUNTS, signal);
    t.strictSame(await statistics.read(signal), {
      ...some,
      byStatus: { 200: 4, 404: 1, 500: 1 },
      runs: 2,
      runMs: 2000,
    });
  });

  t.test('adds at once lose nothing', async (t) => {
    const statistics = await setup(t);
    const one = { ...NO_COUNTS, byStatus: { 500: 1, 200: 1 }, uploads: 1 };
    await Promise.all(Array.from({ length: 8 }, () => statistics.add(one, signal)));
    t.strictSame(await statistics.read(signal), { ...NO_COUNTS, byStatus: { 200: 8, 500: 8 }, uploads: 8 });
  });
}
