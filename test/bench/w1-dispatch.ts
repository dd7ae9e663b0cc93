// W1: what it costs to have a thread do something, with 100 jobs in flight, as many as a lane may have waiting in memory.

import { Lane } from '../../engine/jobs/lane.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { type BenchRow, DATASETS, type Round } from './row.ts';
import { never, type ProductPool, piscinaPool, productPool } from './thread-pools.ts';

const IN_FLIGHT = 100;
const JOBS = DATASETS ?? 50_000;

export const rows: readonly BenchRow[] = [
  {
    id: 'W1',
    watched: true,
    title: 'jobs that do nothing, in two threads, 100 in flight; lane: through a lane from memory',
    ...{ unit: 'jobs/s', better: 'higher' },
    sides: {
      default: { is: 'peer', what: 'Piscina as it comes' },
      tuned: { is: 'peer', what: 'Piscina, concurrentTasksPerWorker 10' },
      wide: { is: 'peer', what: 'Piscina, concurrentTasksPerWorker 100' },
    },
    bars: [
      { over: 'wide', atLeast: 0.8 },
      { over: 'tuned', atLeast: 0.8 },
    ],
    measure,
  },
];

async function measure(rounds: number): Promise<readonly Round[]> {
  await using pool = await productPool(IN_FLIGHT);
  await using plain = piscinaPool();
  await using tuned = piscinaPool(10);
  await using wide = piscinaPool(IN_FLIGHT);
  const rate = (count: number, run: (n: number) => Promise<unknown>): Promise<number> =>
    dispatched(count, IN_FLIGHT, run);
  const round = async (): Promise<Round> => {
    const before = process.cpuUsage();
    const ours = await rate(JOBS, (n) => pool.run('noop', n, { signal: never }));
    const { user, system } = process.cpuUsage(before);
    const lane = await throughLane(pool, JOBS, IN_FLIGHT);
    return {
      ...{ ours, 'CPU us a job': (user + system) / JOBS, lane },
      default: await rate(JOBS, (n) => plain.run(n, { name: 'noop' })),
      tuned: await rate(JOBS, (n) => tuned.run(n, { name: 'noop' })),
      wide: await rate(JOBS, (n) => wide.run(n, { name: 'noop' })),
    };
  };
  await round();
  const measured = [];
  for (let n = 0; n < rounds; n++) measured.push(await round());
  return measured;
}

/** Jobs a second; `run` answers with the job's number. */
async function dispatched(count: number, inFlight: number, run: (n: number) => Promise<unknown>): Promise<number> {
  let next = 0;
  let sum = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      const answer = (await run(next++)) as number;
      sum += answer;
    }
  };
  const begun = performance.now();
  await Promise.all(Array.from({ length: inFlight }, worker));
  return rateOf(count, begun, sum);
}

/** The same through a lane that holds `inFlight` jobs at work and as many in its mailbox, from a source in memory. */
async function throughLane(pool: ProductPool, count: number, inFlight: number): Promise<number> {
  let next = 0;
  let sum = 0;
  const all = Promise.withResolvers<void>();
  const lane = new Lane<number, { readonly kind: 'done'; readonly answer: number }>({
    ...{ name: 'memory', clock: systemClock, log: silentLogger(), metrics: new Metrics() },
    ...{ queueSize: inFlight, workerCount: inFlight, pollMs: 1_000 },
    source: {
      async completeAndFetch(done, limit) {
        for (const { outcome } of done) sum += outcome.answer;
        const claimed = Array.from({ length: Math.min(limit, count - next) }, () => next++);
        if (next === count && lane.sizes.unwritten === done.length && claimed.length + lane.sizes.inFlight === 0)
          all.resolve();
        return claimed;
      },
      watch: () => () => {},
    },
    run: async (n, signal) => ({ kind: 'done', answer: await pool.run('noop', n, { signal }) }),
    settle: (error) => {
      throw error;
    },
    abandon: (n) => ({ kind: 'done', answer: n }),
    idOf: (n) => n,
  });
  const begun = performance.now();
  await lane.start(never);
  await Promise.race([all.promise, lane.broken]);
  const rate = rateOf(count, begun, sum);
  await lane.stop(systemClock.now() + 1_000);
  return rate;
}

/** Throws unless the answers of all jobs add up. */
function rateOf(count: number, begun: number, sum: number): number {
  const rate = (count * 1000) / (performance.now() - begun);
  if (sum !== (count * (count - 1)) / 2) throw new Error(`answers of ${count} jobs add up to ${sum}`);
  return rate;
}
