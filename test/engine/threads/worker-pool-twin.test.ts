// The worker pool sends tasks in arrays and columns; plain Piscina sends each by itself. Whoever calls cannot tell.

import fc from 'fast-check';
import { Piscina } from 'piscina';
import t from 'tap';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { systemClock } from '../../../engine/runtime/time.ts';
import { WorkerPool } from '../../../engine/threads/worker-pool.ts';
import type { TwinTasks } from '../fixtures/twin-tasks.ts';

interface Call {
  readonly name: keyof TwinTasks;
  readonly input: unknown;
  /** Turns of the event loop between the call before and this one. */
  readonly after: number;
}

/** What a caller sees; an abort is one whatever it is called. */
type Seen = { readonly output: unknown } | { readonly error: string } | 'aborted' | 'cannot cross';
type Run = (call: Call, signal: AbortSignal) => Promise<unknown>;

const THREADS = 2;
const reason = new Error('given up');

const pool = new WorkerPool<TwinTasks>({
  ...{ name: 'pool', clock: systemClock, log: silentLogger(), metrics: new Metrics() },
  ...{ filename: new URL('../fixtures/twin-thread.ts', import.meta.url), workerData: null },
  ...{ threads: THREADS, tasksPerThread: 4 },
});
const plain = new Piscina({
  filename: new URL('../fixtures/twin-plain-thread.ts', import.meta.url).href,
  ...{ minThreads: THREADS, maxThreads: THREADS },
  // As in our own pool (thread-pool.ts).
  atomics: 'disabled',
});
t.teardown(async () => {
  pool.kill();
  await Promise.all([pool.stop(0), plain.destroy()]);
});
await pool.start(new AbortController().signal);

const inPool: Run = ({ name, input }, signal) => pool.run(name, input as never, { signal });
const inPlain: Run = ({ name, input }, signal) => plain.run({ name, input }, { signal });

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** All calls in their order; those that hang are aborted once all have been made. */
async function seen(calls: readonly Call[], run: Run): Promise<readonly Seen[]> {
  const gaveUp = new AbortController();
  const patient = new AbortController().signal;
  const answers: Promise<Seen>[] = [];
  for (const call of calls) {
    for (let n = 0; n < call.after; n++) await turn();
    const answer = run(call, call.name === 'hang' ? gaveUp.signal : patient);
    answers.push(answer.then((output) => ({ output }), failureSeen));
  }
  gaveUp.abort(reason);
  return await Promise.all(answers);
}

function failureSeen(error: unknown): Seen {
  const { name, message } = error as Error;
  if (error === reason || name === 'AbortError') return 'aborted';
  return /could not be cloned/.test(message) ? 'cannot cross' : { error: message };
}

const plainData = fc.anything({ maxDepth: 2, withDate: true, withMap: true, withSet: true, withTypedArray: true });
const call = (name: keyof TwinTasks, input: fc.Arbitrary<unknown>): fc.Arbitrary<Call> =>
  fc.record({ name: fc.constant(name), input, after: fc.nat(2) });
const quick = fc.oneof(
  { weight: 6, arbitrary: call('echo', plainData) },
  { weight: 2, arbitrary: call('later', fc.nat(5)) },
  { weight: 2, arbitrary: call('fail', fc.string({ minLength: 1 })) },
  {
    weight: 1,
    arbitrary: call(
      'echo',
      fc.constant(() => 1),
    ),
  },
  { weight: 1, arbitrary: call('unclonable', fc.constant(null)) },
);

t.test('tasks end as they do one by one: the same outputs and failures, whatever crosses with them', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(quick, { minLength: 1, maxLength: 60 }), async (calls) => {
      t.same(await seen(calls, inPool), await seen(calls, inPlain));
    }),
    { numRuns: 40, seed: 20_261_122 },
  );
});

t.test('an abort reaches those whose signal it is, and nobody else', async (t) => {
  const hanging = call('hang', fc.constant(null));
  await fc.assert(
    // As many as there are threads: plain Piscina works on one task in each.
    fc.asyncProperty(
      fc.array(quick, { maxLength: 20 }),
      hanging,
      fc.array(quick, { maxLength: 20 }),
      async (a, h, b) => {
        const calls = [...a, h, ...b];
        t.same(await seen(calls, inPool), await seen(calls, inPlain));
      },
    ),
    { numRuns: 10, seed: 20_261_122 },
  );
});
