// What a lane sends to its source, whose answers wait until the test gives them.

import fc from 'fast-check';
import t, { type Test } from 'tap';
import { Lane } from '../../../engine/jobs/lane.ts';
import type { Completion, LaneOptions, LaneSource } from '../../../engine/jobs/lane-options.ts';
import { messageOf, transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

interface Job {
  readonly id: number;
}
type Outcome = { readonly kind: 'done' | 'abandoned' | 'failed' };

interface Asked {
  readonly done: readonly number[];
  readonly limit: number;
  /** Carries it out and answers. */
  answer(): void;
  /** Carries it out, or does not, and fails. */
  fail(carriedOut?: boolean): void;
}

/** A table of `count` jobs; each call waits until it is answered. Who claims a job holds it until it gives it back. */
class Table implements LaneSource<Job, Outcome> {
  readonly open: number[];
  readonly held = new Set<number>();
  /** How often each job's end was written. */
  readonly ends = new Map<number, number>();
  readonly asked: Asked[] = [];
  wake: () => void = () => {};
  watched = false;

  constructor(count: number) {
    this.open = Array.from({ length: count }, (_, n) => n);
  }

  watch(wake: () => void): () => void {
    this.wake = wake;
    this.watched = true;
    return () => {
      this.watched = false;
    };
  }

  completeAndFetch(done: readonly Completion<Job, Outcome>[], limit: number): Promise<Job[]> {
    const { promise, resolve, reject } = Promise.withResolvers<Job[]>();
    const over = (): void => void this.asked.splice(this.asked.indexOf(asked), 1);
    const asked: Asked = {
      done: done.map(({ job }) => job.id),
      limit,
      answer: () => {
        over();
        resolve(this.#carryOut(done, limit));
      },
      fail: (carriedOut = false) => {
        over();
        // Its claims are lost until their leases run out: here at once.
        if (carriedOut) for (const { id } of this.#carryOut(done, limit)) this.#reopen(id);
        reject(transient('connection lost'));
      },
    };
    this.asked.push(asked);
    return promise;
  }

  #reopen(id: number): void {
    this.held.delete(id);
    this.open.push(id);
  }

  #carryOut(done: readonly Completion<Job, Outcome>[], limit: number): Job[] {
    for (const { job, outcome } of done) {
      // As with leases: what was written already is not written again.
      if (!this.held.has(job.id)) continue;
      if (outcome.kind === 'abandoned') {
        this.#reopen(job.id);
        continue;
      }
      this.held.delete(job.id);
      this.ends.set(job.id, (this.ends.get(job.id) ?? 0) + 1);
    }
    const claimed = this.open.splice(0, limit);
    for (const id of claimed) this.held.add(id);
    if (this.open.length > 0) this.wake();
    return claimed.map((id) => ({ id }));
  }
}

async function setup(t: Test, count: number, options: Partial<LaneOptions<Job, Outcome>> = {}) {
  const clock = new VirtualClock(0);
  const table = new Table(count);
  const runs = new Map<number, () => void>();
  const lane = new Lane<Job, Outcome>({
    ...{ name: 'import', clock, log: silentLogger(), metrics: new Metrics(), pollMs: 5_000, source: table },
    ...{ queueSize: 40, workerCount: 10 },
    run: (job) => new Promise((resolve) => runs.set(job.id, () => resolve({ kind: 'done' }))),
    settle: (error) => {
      throw new Error(messageOf(error));
    },
    abandon: () => ({ kind: 'abandoned' }),
    idOf: (job) => job.id,
    ...options,
  });
  t.teardown(() => lane.kill());
  await lane.start(new AbortController().signal);
  await clock.settle();
  /** As many as run, one after the other, until `left` are not done. */
  const finish = async (many: number): Promise<void> => {
    for (let n = 0; n < many; n++) {
      const [first] = runs;
      if (!first) break;
      runs.delete(first[0]);
      first[1]();
      await clock.settle();
    }
  };
  const answer = async (): Promise<void> => {
    table.asked[0]?.answer();
    await clock.settle();
  };
  return { clock, table, runs, lane, finish, answer };
}

const brief = ({ done, limit }: Asked): string => `${done.length} done, ${limit} wanted`;

t.test('there are never more jobs in memory than may be', async (t) => {
  const { table, lane, finish, answer } = await setup(t, 500);
  await answer();
  for (let n = 0; n < 6; n++) {
    await finish(41);
    const promised = table.asked.reduce((sum, { limit }) => sum + limit, 0);
    t.ok(promised > 0 && lane.sizes.depth + lane.sizes.inFlight + promised <= 50, `${promised} promised`);
    await answer();
  }
});

t.test('the outcomes of a call that fails go first with the next one', async (t) => {
  const { table, finish, answer, clock } = await setup(t, 100);
  await answer();
  await finish(21);
  t.strictSame(table.asked.map(brief), ['21 done, 21 wanted']);
  await finish(4);
  table.asked[0]?.fail();
  await clock.advance(200);
  t.strictSame(table.asked.map(brief), ['25 done, 25 wanted']);
  await answer();
  t.equal(table.ends.size, 25);
});

t.test('a claim that failed is made again after the delay, though nobody wakes the lane', async (t) => {
  const { table, answer, clock, lane } = await setup(t, 10);
  table.asked[0]?.fail();
  await clock.advance(200);
  t.strictSame(table.asked.map(brief), ['0 done, 50 wanted']);
  await answer();
  t.equal(lane.sizes.inFlight, 10);
});

t.test('a lane that is stopped or killed waits for the call under way, and sends nothing else meanwhile', async (t) => {
  for (const end of ['stop', 'kill'] as const) {
    const { table, lane, finish, answer, clock } = await setup(t, 500);
    await answer();
    await finish(41);
    const ending = end === 'stop' ? lane.stop(clock.now() + 10_000) : lane.kill();
    await finish(100);
    t.equal(table.asked.length, 1);
    t.equal(table.watched, true, 'it is under way');
    while (table.asked.length > 0) await answer();
    await ending;
    t.equal(table.watched, false);
    t.equal(table.held.size > 0, end === 'kill', 'what a stopped lane had is written or given back');
    t.equal(table.ends.size, end === 'kill' ? 21 : 50);
  }
});

t.test('every job ends once, whatever fails and whenever', async (t) => {
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant('finish' as const), many: fc.integer({ min: 1, max: 12 }) }),
    },
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('answer' as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('fail' as const),
        carriedOut: fc.boolean(),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('resize' as const), queueSize: fc.integer({ min: 1, max: 20 }) }),
    },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { table, lane, finish, answer, clock } = await setup(t, 60, { queueSize: 8, workerCount: 4 });
      const inMemory = (): number =>
        lane.sizes.depth + lane.sizes.inFlight + table.asked.reduce((sum, { limit }) => sum + limit, 0);
      let most = 12;
      for (const one of steps) {
        if (one.kind === 'finish') await finish(one.many);
        else if (one.kind === 'answer') await answer();
        else if (one.kind === 'fail') table.asked[0]?.fail(one.carriedOut);
        else {
          lane.resize({ queueSize: one.queueSize, workerCount: 4 });
          most = Math.max(most, one.queueSize + 4);
        }
        await clock.settle();
        if (inMemory() > most || table.asked.length > 1)
          throw new Error(`${inMemory()} of ${most}, ${table.asked.length}`);
      }
      for (let n = 0; table.ends.size < 60; n++) {
        if (n > 200) throw new Error(`only ${table.ends.size} ended`);
        await answer();
        await finish(60);
        await clock.advance(10_000);
      }
      if ([...table.ends.values()].some((times) => times !== 1)) throw new Error('ended twice');
      const stopped = lane.stop(clock.now() + 1_000);
      while (table.asked.length > 0) await answer();
      await stopped;
    }),
    { numRuns: 150, seed: 42 },
  );
});
