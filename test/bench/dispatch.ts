// Jobs that do nothing, so many in flight, in two threads: by the product's worker pool, by a lane of the product above it,
// and by plain Piscina.

import { Lane } from '../../engine/jobs/lane.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import type { Round } from './row.ts';
import { never, type ProductPool, piscinaPool, productPool } from './thread-pools.ts';

export interface DispatchOptions {
  readonly inFlight: number;
  readonly jobs: number;
  /** Of plain Piscina: the same work takes it that much longer. */
  readonly peerJobs: number;
}

/** Below this many jobs a second Piscina with its defaults is as slow as usual; it has a fast spell now and then. */
const FAST_SPELL = 40_000;
const TIMES_DEFAULT = { usually: 5, inFastSpell: 2 };

export async function measureDispatch(rounds: number, options: DispatchOptions): Promise<readonly Round[]> {
  await using pool = await productPool(options.inFlight);
  await using plain = piscinaPool();
  await using tuned = piscinaPool(10);
  await using wide = piscinaPool(options.inFlight);
  const { jobs, peerJobs, inFlight } = options;
  const rate = (count: number, run: (n: number) => Promise<unknown>): Promise<number> =>
    dispatched(count, inFlight, run);
  const round = async (): Promise<Round> => {
    const before = process.cpuUsage();
    const ours = await rate(jobs, (n) => pool.run('noop', n, { signal: never }));
    const { user, system } = process.cpuUsage(before);
    const lane = await throughLane(pool, jobs, inFlight);
    const usual = await rate(peerJobs, (n) => plain.run(n, { name: 'noop' }));
    const times = usual > FAST_SPELL ? TIMES_DEFAULT.inFastSpell : TIMES_DEFAULT.usually;
    return {
      ...{ ours, cpu: (user + system) / jobs, lane },
      ...{ default: usual, asked: usual * times },
      tuned: await rate(peerJobs, (n) => tuned.run(n, { name: 'noop' })),
      wide: await rate(peerJobs, (n) => wide.run(n, { name: 'noop' })),
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
