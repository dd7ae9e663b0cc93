import t, { type Test } from 'tap';
import { aborted } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { systemClock } from '../../../engine/runtime/time.ts';
import { LOOK_MS } from '../../../engine/threads/abort-watch.ts';
import { MANY } from '../../../engine/threads/outbox.ts';
import type { ThreadPoolOptions } from '../../../engine/threads/thread-pool.ts';
import { WorkerPool } from '../../../engine/threads/worker-pool.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { type FixtureData, type FixtureTasks, flags, raise, reached } from '../fixtures/fixture-tasks.ts';

const never = new AbortController().signal;

async function setup(t: Pick<Test, 'teardown'>, options: Partial<ThreadPoolOptions> = {}) {
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

/** The threads of so many tasks that wait for each other. */
async function gatesIn(pool: WorkerPool<FixtureTasks>, count: number): Promise<readonly number[]> {
  const shared = flags();
  const gates = Array.from({ length: count }, () => pool.run('gate', shared, { signal: never }));
  await reached(shared, 0, count);
  raise(shared, 1);
  return await Promise.all(gates);
}

/** For tests that leave the threads as they were, however long one takes to heed an abort: starting one is the dear part. */
const steady = await setup(t, { cancelGraceMs: 60_000 });

t.test('a task gets its input and the resources of its thread, opened once', async (t) => {
  const { pool, sessions } = steady;
  t.strictSame(await pool.run('echo', { a: [1, 'two', null] }, { signal: never }), { a: [1, 'two', null] });
  t.equal(await pool.run('opened', null, { signal: never }), 'hello');
  t.equal(sessions[0], 1);
});

t.test('a failure crosses with its kind, message, tries and whether it was reached', async (t) => {
  const { pool } = steady;
  for (const kind of ['rejected', 'transient', 'defect'] as const) {
    const maxTries = kind === 'transient' ? 3 : undefined;
    const message = `a ${kind} one`;
    const failing = pool.run('fail', { kind, message, maxTries }, { signal: never });
    await t.rejects(failing, { name: 'Failure', kind, message, maxTries, unreachable: kind === 'transient' });
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

t.test('a handful of tasks goes to the thread that is quick at their kind; more and others go to all', async (t) => {
  const { pool } = await setup(t, { threads: 2 });
  await gatesIn(pool, 2);
  const idsOf = (count: number): Promise<readonly number[]> =>
    Promise.all(Array.from({ length: count }, () => pool.run('threadId', null, { signal: never })));
  // The first ones are dealt out, and the machine may be slow at any time.
  while (new Set(await idsOf(8)).size > 1);
  t.equal(new Set(await idsOf(40)).size, 2);
  t.equal(new Set(await gatesIn(pool, 2)).size, 2);
});

t.test('tasks that last are dealt out as ever, those of the same kind too', async (t) => {
  const { pool } = await setup(t, { threads: 2 });
  const shared = flags();
  await gatesIn(pool, 2);
  for (let n = 0; n < 3; n++) {
    const tasks = [1, 2].map(() => pool.run('compute', { shared, waits: false }, { signal: never }));
    t.equal(new Set(await Promise.all(tasks)).size, 2);
  }
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

t.test('a cancelled task is told in its thread and answered with the reason', async (t) => {
  const { pool } = steady;
  const shared = flags();
  const cancel = new AbortController();
  const running = pool.run('untilAborted', shared, { signal: cancel.signal });
  await reached(shared, 0, 1);
  const reason = aborted('the lease was lost');
  cancel.abort(reason);
  t.equal(await running.catch((error: unknown) => error), reason);
  t.equal(await pool.run('echo', 'alive', { signal: never }), 'alive');
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

t.test('of many tasks that compute, the first are answered before the last begin', async (t) => {
  const { pool } = steady;
  const shared = flags();
  await pool.run('echo', null, { signal: never });
  const run = (waits: boolean) => pool.run('compute', { shared, waits }, { signal: never });
  const first = [run(false), run(false), run(false), run(false)];
  const last = [run(true), run(true), run(true), run(true)];
  t.equal((await Promise.all(first)).length, 4);
  raise(shared, 1);
  t.equal((await Promise.all(last)).length, 4);
});

t.test('tasks that are cancelled while their thread computes others never begin', async (t) => {
  const clock = new VirtualClock();
  const { pool } = await setup(t, { clock });
  const shared = flags();
  const cancel = new AbortController();
  await pool.run('echo', null, { signal: never });
  const run = (signal: AbortSignal) => pool.run('compute', { shared, waits: true }, { signal });
  const others = Array.from({ length: MANY }, () => run(never));
  const late = Array.from({ length: MANY }, () => run(cancel.signal));
  await reached(shared, 0, 1);
  cancel.abort(aborted('changed my mind'));
  // So many aborts go to the thread at once, and so before it goes on.
  await clock.advance(LOOK_MS);
  raise(shared, 1);
  await Promise.all(late.map((task) => t.rejects(task, { kind: 'aborted', message: 'changed my mind' })));
  await Promise.all(others);
  t.equal(shared[0], MANY);
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

const deaths = [
  ['throws outside of any task', 'throwOutside', null, /nobody catches this/],
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
] as const;
for (const [what, file, message] of unstartable) {
  t.test(`a thread that ${what} delays tasks without a try used up`, async (t) => {
    const filename = new URL(`./fixtures/${file}.ts`, import.meta.url);
    const { pool } = await setup(t, { filename });
    const expected = { kind: 'transient', unreachable: true, message };
    await t.rejects(pool.run('echo', null, { signal: never }), expected);
    t.comment('and further tasks at once, until the next attempt');
    await t.rejects(pool.run('echo', null, { signal: never }), expected);
  });
}

t.test('a thread that ends without a word is given up in time', async (t) => {
  const clock = new VirtualClock();
  const filename = new URL('../fixtures/exiting-thread.ts', import.meta.url);
  const { pool } = await setup(t, { clock, filename, openMs: 30_000 });
  const expected = { kind: 'transient', unreachable: true, message: /not ready after 30000 ms/ };
  const told = t.rejects(pool.run('echo', null, { signal: never }), expected);
  await clock.advance(30_000);
  await told;
});

t.test('an idle thread closes its resources and ends', async (t) => {
  const { pool, sessions } = await setup(t, { idleMs: 1 });
  await pool.run('echo', null, { signal: never });
  await reached(sessions, 1, 1);
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
