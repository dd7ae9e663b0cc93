// M4: jobs that keep a core busy for 0.7 ms: which share of what two cores can do at all is left, in memory and durable.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { durableServer } from './durable-server.ts';
import { graphile } from './engine-graphile.ts';
import { longshore } from './engine-longshore.ts';
import { pgBoss } from './engine-pg-boss.ts';
import type { JobEngine } from './job-engine.ts';
import type { BenchRow, Round } from './row.ts';
import { never, productPool, THREADS } from './thread-pools.ts';

const JOBS = 4_000;
/** Enough that no thread waits for its next. */
const IN_FLIGHT = 16;

export const rows: readonly BenchRow[] = [
  {
    id: 'M4',
    title: 'jobs of sha256 over 1.2 MB in two threads; ours: from memory, durable: from the job table',
    ...{ unit: 'jobs/s', better: 'higher' },
    sides: {
      graphile: { is: 'peer', what: 'graphile-worker in batches, Piscina' },
      pgBoss: { is: 'peer', what: 'pg-boss, two loops of fetch and complete of 500, Piscina' },
      ceiling: { is: 'limit', what: 'two threads that do nothing else' },
    },
    bars: [
      { over: 'ceiling', atLeast: 0.88 },
      { of: 'durable', over: 'ceiling', atLeast: 0.8 },
    ],
    async measure(rounds) {
      await using cleanup = new AsyncDisposableStack();
      const dir = await mkdtemp(join(tmpdir(), 'longshore-bench-'));
      cleanup.defer(() => rm(dir, { recursive: true, force: true }));
      const server = cleanup.use(await durableServer());
      const log = join(dir, 'longshore.log');
      const engines: Readonly<Record<string, JobEngine>> = {
        durable: cleanup.use(await longshore(server, 'ours', { plugins: 1, log })),
        graphile: cleanup.use(await graphile(server, 'graphile')),
        pgBoss: cleanup.use(await pgBoss(server, 'pgboss')),
      };
      const pool = cleanup.use(await productPool(IN_FLIGHT));
      const threads = Array.from(
        { length: THREADS },
        () => new Worker(new URL('./threads/raw-thread.ts', import.meta.url)),
      );
      cleanup.defer(async () => {
        await Promise.all(threads.map((thread) => thread.terminate()));
      });
      const round = async (): Promise<Round> => {
        const figures: Record<string, number> = {
          ceiling: await rate(() => Promise.all(threads.map((thread) => digests(thread, JOBS / THREADS)))),
          ours: await rate(() => fromMemory(pool)),
        };
        for (const [name, engine] of Object.entries(engines)) {
          await engine.fill(JOBS);
          figures[name] = (JOBS * 1_000) / (await engine.drain(JOBS, 'digest'));
        }
        return figures as Round;
      };
      await round();
      const measured = [];
      for (let n = 0; n < rounds; n++) measured.push(await round());
      return measured;
    },
  },
];

async function rate(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return (JOBS * 1_000) / (performance.now() - begun);
}

const digests = (thread: Worker, count: number): Promise<unknown> =>
  new Promise((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.postMessage(count);
  });

async function fromMemory(pool: Awaited<ReturnType<typeof productPool>>): Promise<void> {
  let next = 0;
  const seen = new Set<string>();
  const worker = async (): Promise<void> => {
    while (next < JOBS) seen.add(await pool.run('digest', next++, { signal: never }));
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  if (seen.size !== 1) throw new Error(`${seen.size} digests of one block`);
}
