import { setImmediate as turn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { aborted, Cancelled } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { systemClock } from '../../../engine/runtime/time.ts';
import { WorkerPool, type WorkerPoolOptions } from '../../../engine/threads/worker-pool.ts';
import { type FixtureData, type FixtureTasks, flags, raise, reached } from '../fixtures/fixture-tasks.ts';

const never = new AbortController().signal;

async function setup(t: Pick<Test, 'teardown'>, options: Partial<WorkerPoolOptions> = {}) {
  const metrics = new Metrics();
  const sessions = flags();
  const workerData: FixtureData = { greeting: 'hello', sessions };
  const pool = new WorkerPool<FixtureTasks>({
    name: 'pool',
    clock: systemClock,
    log: silentLogger(),
    metrics,
    filename: new URL('../fixtures/task-thread.ts', import.meta.url),
    workerData,
    threads: 1,
    tasksPerThread: 32,
    cancelGraceMs: 50,
    ...options,
  });
  t.teardown(async () => {
    pool.kill();
    await pool.stop(0);
  });
  await pool.start(never);
  return { pool, metrics, sessions };
}

/** For tests that leave the threads as they were, however long one takes to heed an abort: starting one is the dear part. */
const steady = await setup(t, { cancelGraceMs: 60_000 });

t.test('a task gets its input and the resources of its thread, opened once', async (t) => {
  const { pool, sessions } = steady;
  t.strictSame(await pool.run('echo', { a: [1, 'two', null] }, { signal: never }), { a: [1, 'two', null] });
  t.equal(await pool.run('opened', null, { signal: never }), 'hello');
  t.equal(sessions[0], 1);
});

t.test('a failure crosses with its kind, message, attempts and whether it was reached', async (t) => {
  const { pool } = steady;
  for (const kind of ['rejected', 'transient', 'defect'] as const) {
    const maxAttempts = kind === 'transient' ? 3 : undefined;
    const message = `a ${kind} one`;
    const failing = pool.run('fail', { kind, message, maxAttempts }, { signal: never });
    await t.rejects(failing, { name: 'Failure', kind, message, maxAttempts, unreachable: kind === 'transient' });
  }
});

t.test('a task that the thread does not know fails, and says which there are', async (t) => {
  await t.rejects(steady.pool.run('none' as 'echo', null, { signal: never }), {
    ...{ kind: 'defect', message: /^no task is named 'none'; there are: echo, threadId, / },
  });
});

t.test('what cannot be cloned fails its own task only, going in or out', async (t) => {
  const { pool } = steady;
  const input = pool.run('echo', () => 1, { signal: never });
  const output = pool.run('unclonable', null, { signal: never });
  const fine = pool.run('echo', 'fine', { signal: never });
  await t.rejects(input, { kind: 'defect', message: /input of task 'echo' cannot cross/ });
  await t.rejects(output, { kind: 'defect', message: /output cannot leave its thread/ });
  t.equal(await fine, 'fine');
});

t.test('several tasks run at a time in one thread', async (t) => {
  const { pool } = steady;
  const shared = flags();
  const gates = [1, 2, 3].map(() => pool.run('gate', shared, { signal: never }));
  await reached(shared, 0, 3);
  raise(shared, 1);
  t.equal(new Set(await Promise.all(gates)).size, 1);
});

t.test('busy threads are joined by others up to the limit, before tasks share one', async (t) => {
  const { pool, metrics } = await setup(t, { threads: 2 });
  const shared = flags();
  const gates = [1, 2, 3, 4].map(() => pool.run('gate', shared, { signal: never }));
  await reached(shared, 0, 4);
  t.match(await metrics.text(), /worker_threads\{kind="shared"\} 2\n.*\n.*\n/);
  t.match(await metrics.text(), 'longshore_worker_tasks_running{kind="shared"} 4');
  raise(shared, 1);
  t.equal(new Set(await Promise.all(gates)).size, 2);
});

t.test('refuses when as many wait as may', async (t) => {
  const { pool } = await setup(t, { tasksPerThread: 1, queueSize: 1 });
  const shared = flags();
  const running = pool.run('gate', shared, { signal: never });
  await reached(shared, 0, 1);
  const waiting = pool.run('echo', 'waited', { signal: never });
  await t.rejects(pool.run('echo', 'too many', { signal: never }), { kind: 'transient', message: /1 tasks wait/ });
  raise(shared, 1);
  t.equal(await waiting, 'waited');
  await running;
});

t.test('however a task ends, others take its place', async (t) => {
  // There is memory for three tasks.
  const { pool } = await setup(t, { tasksPerThread: 1, queueSize: 1 });
  for (let round = 0; round < 4; round++) {
    const shared = flags();
    const cancel = new AbortController();
    const running = pool.run('untilAborted', shared, { signal: cancel.signal });
    await reached(shared, 0, 1);
    const waiting = pool.run('gate', shared, { signal: cancel.signal });
    cancel.abort(aborted('enough'));
    await Promise.all([running, waiting].map((one) => t.rejects(one, { message: 'enough' })));
    t.equal(await pool.run('echo', round, { signal: never }), round);
    await t.rejects(pool.run('echo', Symbol('no'), { signal: never }), { kind: 'defect', message: /cannot cross/ });
    await t.rejects(pool.run('exit', 3, { signal: never }), { name: 'ThreadDied' });
  }
});

t.test('a task alone has its own thread', async (t) => {
  const { pool } = await setup(t);
  const shared = flags();
  const others = pool.run('gate', shared, { signal: never });
  await reached(shared, 0, 1);
  const alone = await pool.run('threadId', null, { signal: never, alone: true });
  raise(shared, 1);
  t.not(alone, await others);
});

t.test('two tasks alone never share a thread, the second waits', async (t) => {
  const { pool } = await setup(t);
  const first = flags();
  const second = flags();
  const one = pool.run('gate', first, { signal: never, alone: true });
  const two = pool.run('gate', second, { signal: never, alone: true });
  await reached(first, 0, 1);
  // The thread answers shared tasks meanwhile; the second has not begun.
  await pool.run('echo', null, { signal: never });
  t.equal(second[0], 0);
  raise(first, 1);
  await one;
  raise(second, 1);
  await two;
});

t.test('a cancelled task is told in its thread and answered with the reason, and no other task is told', async (t) => {
  const { pool } = steady;
  const shared = flags();
  const cancels = [new AbortController(), new AbortController()] as const;
  const [first, second] = cancels.map(({ signal }) => pool.run('untilAborted', shared, { signal }));
  await reached(shared, 0, 2);
  const reason = aborted('the lease was lost');
  cancels[0].abort(reason);
  t.equal(await first?.catch((error: unknown) => error), reason);
  t.equal(await pool.run('echo', 'alive', { signal: never }), 'alive');
  cancels[1].abort(aborted('the other one'));
  await t.rejects(second as Promise<never>, { message: 'the other one' });
});

t.test('a task that finishes all the same is answered with its result', async (t) => {
  const { pool } = steady;
  const shared = flags();
  const cancel = new AbortController();
  const running = pool.run('finishAnyway', shared, { signal: cancel.signal });
  await reached(shared, 0, 1);
  cancel.abort();
  t.equal(await running, 'finished');
});

t.test('a waiting task that is cancelled never begins', async (t) => {
  const { pool } = await setup(t, { tasksPerThread: 1 });
  const shared = flags();
  const cancel = new AbortController();
  const running = pool.run('gate', shared, { signal: never });
  await reached(shared, 0, 1);
  const begun = flags();
  const waiting = pool.run('gate', begun, { signal: cancel.signal });
  cancel.abort(aborted('changed my mind'));
  await t.rejects(waiting, { kind: 'aborted', message: 'changed my mind' });
  raise(shared, 1);
  await running;
  await pool.run('echo', null, { signal: never });
  t.equal(begun[0], 0);
  const late = pool.run('echo', null, { signal: cancel.signal });
  await t.rejects(late, { message: 'changed my mind' });
});

t.test('a task that is cancelled while its thread computes another never begins', async (t) => {
  const { pool } = steady;
  const shared = flags();
  const cancel = new AbortController();
  const other = pool.run('block', shared, { signal: never });
  await reached(shared, 0, 1);
  const late = pool.run('block', shared, { signal: cancel.signal });
  cancel.abort(aborted('changed my mind'));
  await t.rejects(late, { kind: 'aborted', message: 'changed my mind' });
  raise(shared, 1);
  await other;
  await pool.run('echo', null, { signal: never });
  t.equal(shared[0], 1);
});

t.test('a task that does not heed its abort costs its thread; its neighbours are not blamed', async (t) => {
  const { pool, metrics } = await setup(t);
  const shared = flags();
  const neighbour = pool.run('untilAborted', shared, { signal: never });
  await reached(shared, 0, 1);
  const cancel = new AbortController();
  const stubborn = pool.run('stubborn', shared, { signal: cancel.signal });
  await reached(shared, 0, 2);
  cancel.abort(aborted('shutdown'));
  await t.rejects(stubborn, { kind: 'aborted', message: 'shutdown' });
  await t.rejects(neighbour, { name: 'ThreadDied', kind: 'aborted', crashed: false });
  t.equal(await pool.run('echo', 'a new thread', { signal: never }), 'a new thread');
  t.notMatch(await metrics.text(), /worker_thread_deaths_total\{/);
});

t.test('a task that is cancelled hard costs its thread at once', async (t) => {
  const { pool } = await setup(t, { cancelGraceMs: 3_600_000 });
  const shared = flags();
  const cancel = new AbortController();
  const stubborn = pool.run('stubborn', shared, { signal: cancel.signal });
  await reached(shared, 0, 1);
  cancel.abort(new Cancelled('cancelled by user 9', true));
  await t.rejects(stubborn, { name: 'Cancelled', message: 'cancelled by user 9' });
  t.equal(await pool.run('echo', 'a new thread', { signal: never }), 'a new thread');
});

t.test('the last thread is terminated for a task that heeds nothing, and tasks that wait get a new one', async (t) => {
  const { pool } = await setup(t, { tasksPerThread: 1 });
  const shared = flags();
  const cancel = new AbortController();
  const stubborn = pool.run('stubborn', shared, { signal: cancel.signal });
  await reached(shared, 0, 1);
  const waiting = pool.run('echo', 'waited', { signal: never });
  cancel.abort(aborted('enough'));
  await t.rejects(stubborn, { message: 'enough' });
  t.equal(await waiting, 'waited');
});

t.test('when a thread dies, tasks that it had not begun go to another', async (t) => {
  const { pool } = await setup(t);
  const shared = flags();
  const culprit = pool.run('exitOnceRaised', shared, { signal: never });
  await reached(shared, 0, 1);
  const neighbour = pool.run('echo', 'unharmed', { signal: never });
  raise(shared, 1);
  await t.rejects(culprit, { name: 'ThreadDied', crashed: true });
  t.equal(await neighbour, 'unharmed');
});

const deaths = [
  ['throws outside of any task', 'throwOutside', null, /nobody catches this/],
  ['throws null outside of any task', 'throwNull', null, /it threw null/],
  ['exits', 'exit', 3, /exited with code: 3/],
  ['runs out of memory', 'outOfMemory', null, /memory/],
] as const;
for (const [what, task, input, message] of deaths) {
  t.test(`a thread that ${what} is told to all its tasks and costs nobody else`, async (t) => {
    const { pool, metrics } = await setup(t, { maxOldGenerationSizeMb: 64 });
    const shared = flags();
    const neighbour = pool.run('untilAborted', shared, { signal: never });
    await reached(shared, 0, 1);
    const culprit = pool.run(task as 'exit', input as number, { signal: never });
    for (const told of [culprit, neighbour]) {
      await t.rejects(told, { name: 'ThreadDied', kind: 'aborted', crashed: true, message });
    }
    t.equal(await pool.run('echo', 'a new thread', { signal: never }), 'a new thread');
    t.match(await metrics.text(), 'longshore_worker_thread_deaths_total{kind="shared"} 1');
  });
}

const unstartable = [
  ['cannot open its resources', 'unready-thread', /no such bucket/],
  ['cannot load its file', 'broken-thread', /cannot be loaded/],
  ['exits while it loads', 'exiting-thread', /exited with code: 7/],
] as const;
for (const [what, file, message] of unstartable) {
  t.test(`a thread that ${what} delays tasks without an attempt used up`, async (t) => {
    const filename = new URL(`../fixtures/${file}.ts`, import.meta.url);
    const { pool, metrics } = await setup(t, { filename });
    const expected = { kind: 'transient', unreachable: true, message };
    const tasks = [1, 2].map(() => pool.run('echo', null, { signal: never }));
    for (const task of tasks) await t.rejects(task, expected);
    await t.rejects(pool.run('echo', null, { signal: never }), expected);
    t.notMatch(await metrics.text(), /worker_thread_deaths_total\{/);
  });
}

t.test('a thread opens its resources again after it could not', async (t) => {
  const sessions = flags();
  const { pool } = await setup(t, { workerData: { greeting: 'hello', sessions, opensAt: 2 } satisfies FixtureData });
  await t.rejects(pool.run('opened', null, { signal: never }), { kind: 'transient', message: /not yet/ });
  t.equal(await pool.run('opened', null, { signal: never }), 'hello');
  t.equal(sessions[0], 2);
});

t.test('an idle thread ends, and the next task gets another', async (t) => {
  const { pool, metrics, sessions } = await setup(t, { idleMs: 1 });
  await pool.run('echo', null, { signal: never });
  while (/worker_threads\{kind="shared"\} 1/.test(await metrics.text())) await turn();
  t.equal(await pool.run('echo', 'again', { signal: never }), 'again');
  t.equal(sessions[0], 2);
});

t.test('goes on while draining, refuses once stopping, waits for what runs', async (t) => {
  const { pool } = await setup(t);
  pool.quiet();
  const shared = flags();
  const running = pool.run('gate', shared, { signal: never });
  await reached(shared, 0, 1);
  const stopped = pool.stop(systemClock.now() + 10_000);
  await t.rejects(pool.run('echo', null, { signal: never }), { kind: 'aborted', message: /shut down/ });
  raise(shared, 1);
  t.type(await running, 'number');
  await stopped;
});

t.test('cancels what runs shortly before the deadline', async (t) => {
  const { pool } = await setup(t, { marginMs: 10_000 });
  const shared = flags();
  const running = pool.run('untilAborted', shared, { signal: never });
  await reached(shared, 0, 1);
  const told = t.rejects(running, { kind: 'aborted', message: 'shutdown' });
  await pool.stop(systemClock.now() + 100);
  await told;
});

t.test('killing ends stubborn threads and answers their tasks', async (t) => {
  const { pool } = await setup(t, { cancelGraceMs: 60_000 });
  const shared = flags();
  const running = pool.run('stubborn', shared, { signal: never });
  await reached(shared, 0, 1);
  pool.kill();
  await t.rejects(running, { kind: 'aborted', message: 'killed' });
});
