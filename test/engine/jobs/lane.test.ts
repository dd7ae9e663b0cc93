import t, { type Test } from 'tap';
import { aborted, defect, transient } from '../../../engine/runtime/failure.ts';
import { type Outcome, laneWorld as setup } from './lane-world.ts';

const fact = (what: string, check: (t: Test, world: Awaited<ReturnType<typeof setup>>) => Promise<void>): void => {
  t.test(what, async (t) => check(t, await setup(t)));
};

fact('claims what fits, works on workerCount at a time, in order', async (t, { lane, source, runs, finish, add }) => {
  await add(1, 2, 3, 4, 5, 6, 7, 8);
  t.strictSame([...runs.keys()], [1, 2]);
  t.strictSame(lane.sizes, { depth: 4, capacity: 4, inFlight: 2, workers: 2, unwritten: 0 });
  t.strictSame(source.queue, [{ id: 7 }, { id: 8 }]);
  await finish(1);
  t.strictSame([...runs.keys()], [1, 2, 3]);
});

fact('writes an outcome at once when nothing else is to do', async (t, { source, finish, add }) => {
  await add(1);
  await finish(1);
  t.strictSame(source.written, ['1 done']);
});

fact('what finishes during a call goes with the next, never two at once', async (t, { source, finish, add }) => {
  await add(1, 2, 3, 4);
  const hold = Promise.withResolvers<void>();
  source.hold = hold.promise;
  const before = source.calls.length;
  await finish(1);
  await finish(2, 3);
  await finish(4);
  source.hold = undefined;
  hold.resolve();
  await finish();
  t.strictSame(
    source.calls.slice(before).map(({ done }) => done),
    [['1 done'], ['2 done', '3 done', '4 done']],
  );
  t.equal(source.mostBusy, 1);
});

t.test('while the mailbox is more than half full, outcomes wait for each other up to flushMs', async (t) => {
  const { clock, source, finish, add } = await setup(t, { queueSize: 10, flushMs: 20 });
  await add(...Array.from({ length: 12 }, (_, i) => i + 1));
  await finish(1, 2);
  await finish(3);
  t.strictSame(source.written, []);
  await clock.advance(20);
  t.strictSame(source.written, ['1 done', '2 done', '3 done']);
});

t.test('claims again when the mailbox is less than half full', async (t) => {
  const { source, finish, add } = await setup(t, { flushMs: 60_000 });
  await add(1, 2, 3, 4, 5, 6, 7, 8, 9);
  const before = source.calls.length;
  await finish(1, 2);
  t.equal(source.calls.length, before, 'half full is enough');
  await finish(3);
  t.strictSame(source.calls.slice(before), [{ done: ['1 done', '2 done', '3 done'], limit: 3 }]);
});

fact('a wake claims at once, without one the slow poll does', async (t, { clock, source, runs, add }) => {
  await add(1);
  source.queue.push({ id: 2 });
  await clock.advance(4999);
  t.strictSame([...runs.keys()], [1]);
  await clock.advance(1);
  t.strictSame([...runs.keys()], [1, 2]);
});

fact('a wake during a call is not forgotten', async (t, { clock, source, runs }) => {
  const hold = Promise.withResolvers<void>();
  source.hold = hold.promise;
  source.wake();
  await clock.settle();
  source.completeAndFetch = async (_done, limit) => source.queue.splice(0, limit);
  source.add(1);
  hold.resolve();
  await clock.settle();
  t.strictSame([...runs.keys()], [1]);
});

fact('an idle lane asks only at its polls', async (t, { clock, source }) => {
  await clock.advance(20_000);
  t.strictSame(source.calls, Array(5).fill({ done: [], limit: 6 }));
});

t.test('a failing call is tried again with growing delays and loses no outcome', async (t) => {
  const { clock, source, finish, add } = await setup(t);
  await add(1, 2);
  source.failure = transient('the database is away');
  await finish(1);
  await finish(2);
  await clock.advance(60_000);
  const tried = source.calls.length;
  t.ok(tried > 5 && tried < 40, `${tried} calls in a minute`);
  t.strictSame(source.written, []);
  source.failure = undefined;
  await clock.advance(10_000);
  t.strictSame(source.written, ['1 done', '2 done']);
});

t.test('without a call no more is worked on than was claimed', async (t) => {
  const { clock, source, lane, runs, finish, add } = await setup(t);
  await add(1, 2, 3, 4, 5, 6, 7, 8);
  source.failure = transient('the database is away');
  for (const id of [1, 2, 3, 4, 5, 6]) await finish(id);
  await clock.advance(60_000);
  t.strictSame([...runs.keys()], [1, 2, 3, 4, 5, 6]);
  t.equal(lane.sizes.unwritten, 6);
});

fact('settle decides the outcome of a run that throws', async (t, { clock, source, runs, add }) => {
  await add(1);
  runs.get(1)?.reject(new Error('bad archive'));
  await clock.settle();
  t.strictSame(source.written, ['1 failed bad archive']);
});

t.test('a settle that throws breaks the lane', async (t) => {
  const settle = (): Outcome => {
    throw new Error('no idea');
  };
  const { lane, runs, add } = await setup(t, { settle });
  await add(1);
  runs.get(1)?.reject(new Error('bad archive'));
  await t.rejects(lane.broken, { message: 'no idea' });
});

fact('abortJob reaches a running job, and settle hears the reason', async (t, { clock, source, lane, runs, add }) => {
  await add(1);
  t.equal(lane.abortJob(1, aborted('the lease was lost')), true);
  t.equal(runs.get(1)?.signal.aborted, true);
  runs.get(1)?.reject(transient('socket closed'));
  await clock.settle();
  t.strictSame(source.written, ['1 failed the lease was lost']);
  t.equal(lane.abortJob(1, aborted('again')), false);
});

fact('abortJob keeps a waiting job from beginning', async (t, { source, lane, runs, finish, add }) => {
  await add(1, 2, 3);
  t.equal(lane.abortJob(3, aborted('the lease was lost')), true);
  await finish(1);
  t.strictSame([...runs.keys()], [1, 2]);
  t.strictSame(source.written, ['1 done', '3 failed the lease was lost']);
});

t.test('a job claimed again while it runs begins when that run has ended', async (t) => {
  const { clock, source, lane, runs, finish, add } = await setup(t);
  await add(1);
  const first = runs.get(1);
  lane.abortJob(1, aborted('the lease was lost'));
  await add(1);
  t.equal(runs.get(1), first, 'not begun');
  t.equal(lane.held().length, 2);
  first?.reject(new Error('stopped'));
  await clock.settle();
  t.not(runs.get(1), first);
  await finish(1);
  t.strictSame(source.written, ['1 failed the lease was lost', '1 done']);
});

fact('held names every job without a written outcome', async (t, { source, lane, finish, add }) => {
  await add(1, 2, 3, 4);
  source.hold = new Promise(() => {});
  await finish(1);
  await finish(2);
  t.strictSame(
    lane
      .held()
      .map(({ id }) => id)
      .sort(),
    [1, 2, 3, 4],
  );
});

fact('quiet claims no more but works off what it has', async (t, { clock, source, lane, finish, add }) => {
  await add(1, 2, 3, 4);
  lane.quiet();
  await add(5);
  await clock.advance(30_000);
  for (const id of [1, 2, 3, 4]) await finish(id);
  t.strictSame(source.written, ['1 done', '2 done', '3 done', '4 done']);
  t.strictSame(source.queue, [{ id: 5 }]);
  t.equal(source.watched, false);
});

fact('stop gives back what has not begun and waits for what runs', async (t, { clock, source, lane, finish, add }) => {
  await add(1, 2, 3, 4);
  let stopped = false;
  const stopping = lane.stop(30_000).then(() => {
    stopped = true;
  });
  await clock.settle();
  t.strictSame(source.written, ['3 abandoned', '4 abandoned']);
  await finish(1);
  t.equal(stopped, false);
  await finish(2);
  await stopping;
  t.strictSame(source.written, ['3 abandoned', '4 abandoned', '1 done', '2 done']);
  t.equal(clock.now(), 0, 'no later than need be');
});

t.test('shortly before the deadline what runs is aborted, and the outcome still written', async (t) => {
  const { clock, source, lane, add, heed } = await setup(t);
  await add(1);
  heed(1);
  const stopping = lane.stop(30_000);
  await clock.advance(27_999);
  t.strictSame(source.written, []);
  await clock.advance(1);
  await stopping;
  t.strictSame(source.written, ['1 failed shutdown']);
});

t.test('a job that does not heed its abort holds nobody up beyond the deadline', async (t) => {
  const { clock, source, lane, add } = await setup(t);
  await add(1);
  const stopping = lane.stop(30_000);
  await clock.advance(30_000);
  await stopping;
  t.strictSame(source.written, []);
});

fact('jobs claimed by a call under way at the stop are given back', async (t, { clock, source, lane, runs }) => {
  const hold = Promise.withResolvers<void>();
  source.hold = hold.promise;
  source.add(1, 2);
  await clock.settle();
  const stopping = lane.stop(30_000);
  source.hold = undefined;
  hold.resolve();
  await stopping;
  t.strictSame([...runs.keys()], []);
  t.strictSame(source.written, ['1 abandoned', '2 abandoned']);
});

t.test('a source that comes back before the deadline still gets the outcomes', async (t) => {
  const { clock, source, lane, finish, add } = await setup(t);
  await add(1);
  source.failure = transient('the database is away');
  await finish(1);
  await clock.advance(60_000);
  const stopping = lane.stop(clock.now() + 30_000);
  await clock.advance(10_000);
  source.failure = undefined;
  await clock.advance(200);
  await stopping;
  t.strictSame(source.written, ['1 done']);
});

fact('kill aborts what runs and writes nothing more', async (t, { clock, source, lane, runs, finish, add }) => {
  await add(1, 2, 3);
  lane.kill();
  await clock.settle();
  t.strictSame([runs.get(1)?.signal.aborted, runs.get(2)?.signal.aborted], [true, true]);
  await finish(1, 2);
  await clock.advance(60_000);
  t.strictSame(source.written, []);
  t.strictSame([...runs.keys()], [1, 2]);
});

t.test('more jobs than were asked for are given back', async (t) => {
  const { clock, source } = await setup(t, { queueSize: 1, workerCount: 1 });
  source.completeAndFetch = async (done) => {
    source.written.push(...done.map(({ job, outcome }) => `${job.id} ${outcome.kind}`));
    return source.queue.splice(0);
  };
  source.add(1, 2, 3);
  await clock.advance(25);
  t.strictSame(source.written, ['3 abandoned']);
});

t.test('tells its sizes, times and outcomes', async (t) => {
  const { clock, metrics, runs, finish, add } = await setup(t, { waitedMs: () => 3000 });
  await add(1, 2, 3);
  await clock.advance(2000);
  await finish(1);
  runs.get(2)?.reject(defect('bug'));
  await clock.settle();
  const text = await metrics.text();
  for (const line of [
    'longshore_lane_depth{lane="import"} 0',
    'longshore_lane_capacity{lane="import"} 4',
    'longshore_lane_in_flight{lane="import"} 1',
    'longshore_lane_workers{lane="import"} 2',
    'longshore_lane_unwritten{lane="import"} 0',
    'longshore_lane_claimed_total{lane="import"} 3',
    'longshore_lane_jobs_total{lane="import",outcome="done"} 1',
    'longshore_lane_jobs_total{lane="import",outcome="failed"} 1',
    'longshore_lane_wait_seconds_sum{lane="import"} 11',
    'longshore_lane_run_seconds_sum{lane="import"} 4',
  ]) {
    t.match(text, line);
  }
});

t.test('tells how long a job was due although a worker was free', async (t) => {
  let waitedMs = 3_000;
  const { clock, metrics, finish, add, source } = await setup(t, { waitedMs: () => waitedMs });
  const idle = async (): Promise<readonly (string | undefined)[]> => {
    const text = await metrics.text();
    return ['sum', 'count'].map((of) => text.match(`longshore_lane_idle_wait_seconds_${of}.* (\\S+)`)?.[1]);
  };
  await clock.advance(10_000);
  await add(1, 2);
  t.strictSame(await idle(), ['6', '2'], 'two workers were free all the time');
  await clock.advance(10_000);
  await add(3);
  t.strictSame(await idle(), ['6', '2'], 'both workers had a job');
  await finish(1, 2);
  await finish(3);
  await clock.advance(1_000);
  await add(4);
  t.strictSame(await idle(), ['7', '3'], 'a worker was free for one second');
  waitedMs = 500;
  await add(5);
  source.skips = () => true;
  await add(6);
  t.strictSame(await idle(), ['7.5', '4'], 'none that the source had skipped on purpose');
});

t.test('counts what comes again by its cause and what is given up by its failure, from zero', async (t) => {
  const { clock, metrics, add, runs } = await setup(t, {
    workerCount: 4,
    settle: () => ({ kind: 'dead', failure: 'defect' }),
  });
  const told = async (): Promise<string[]> =>
    (await metrics.text()).match(/^longshore_lane_(retries|dead)_total.*$/gm) ?? [];
  const expected = (failed: number, waiting: number, defects: number): string[] => [
    `longshore_lane_retries_total{lane="import",cause="failed"} ${failed}`,
    `longshore_lane_retries_total{lane="import",cause="waiting"} ${waiting}`,
    'longshore_lane_dead_total{lane="import",failure="rejected"} 0',
    'longshore_lane_dead_total{lane="import",failure="transient"} 0',
    `longshore_lane_dead_total{lane="import",failure="defect"} ${defects}`,
  ];
  t.strictSame(await told(), expected(0, 0, 0));
  await add(1, 2, 3, 4);
  runs.get(1)?.resolve({ kind: 'retry', countsAttempt: true });
  runs.get(2)?.resolve({ kind: 'retry', countsAttempt: false });
  runs.get(3)?.resolve({ kind: 'done' });
  runs.get(4)?.reject(defect('bug'));
  await clock.settle();
  t.strictSame(await told(), expected(1, 1, 1));
});

t.test('the time of a job that did not begin is not counted', async (t) => {
  const { clock, metrics, lane, finish, add } = await setup(t, { workerCount: 1 });
  await add(1, 2);
  const stopped = lane.stop(clock.now() + 1000);
  await clock.settle();
  await finish(1);
  await stopped;
  t.strictSame((await metrics.text()).match(/^longshore_lane_(jobs_total|run_seconds_count).*$/gm), [
    'longshore_lane_run_seconds_count{lane="import"} 1',
    'longshore_lane_jobs_total{lane="import",outcome="failed"} 0',
    'longshore_lane_jobs_total{lane="import",outcome="abandoned"} 1',
    'longshore_lane_jobs_total{lane="import",outcome="done"} 1',
  ]);
});

t.test('a source that waits for a worker is not asked before one is idle', async (t) => {
  const { source, lane, begun, finish, add } = await setup(t);
  await add(1, 2);
  source.waitsForWorker = () => true;
  const before = source.calls.length;
  await add(3, 4);
  t.same([source.calls.length, begun], [before, [1, 2]]);
  await finish(1);
  t.same([source.calls.at(-1), begun], [{ done: ['1 done'], limit: 5 }, [1, 2, 3]]);
  t.equal(source.calls.length, before + 1);
  lane.resize({ queueSize: 4, workerCount: 3 });
  await finish(2);
  t.same([begun, lane.sizes.inFlight], [[1, 2, 3, 4], 2]);
});

t.test('a reserved worker is kept for a job that comes without a claim', async (t) => {
  const { clock, source, lane, begun, finish, add } = await setup(t);
  t.same([lane.reserve(), lane.reserve(), lane.reserve()], [true, true, false], 'as many as there are workers');
  t.equal(lane.fill({ id: 7 }), true);
  t.same([begun, lane.held()], [[7], [{ id: 7 }]]);
  await add(1, 2, 3, 4, 5);
  t.equal(source.calls.at(-1)?.limit, 4, 'no job is claimed for it');
  t.equal(lane.fill(undefined), false);
  t.equal(lane.reserve(), false, 'jobs wait');
  await finish(7);
  await clock.advance(25);
  t.same(source.written, ['7 done']);
});

t.test('a lane that takes no more jobs takes none over', async (t) => {
  const { lane, begun } = await setup(t);
  t.equal(lane.reserve(), true);
  lane.quiet();
  t.same([lane.fill({ id: 7 }), lane.reserve(), begun], [false, false, []]);
});

t.test('a job that the lane does not accept is given back', async (t) => {
  const { source, begun, add } = await setup(t, { accepts: ({ id }) => id !== 2 });
  source.queue.push({ id: 2 });
  await add(1);
  t.same(begun, [1]);
  t.same(source.written[0], '2 abandoned');
});
