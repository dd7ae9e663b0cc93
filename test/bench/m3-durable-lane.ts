// M3: jobs from a durable queue to threads and back: claimed, run in a thread (nothing is done there), completed; fsync is on.
//
// How many jobs an engine may have in memory decides how many share a round trip and a commit, and that decides much of this
// measure. Ours may have 120 (config/REFERENCE.md); graphile-worker takes 524 here and pg-boss 1,000. They are measured
// with 120 as well, and ours with 1,000.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { durableServer, redisServer } from './durable-server.ts';
import { bull } from './engine-bull.ts';
import { graphile } from './engine-graphile.ts';
import { longshore } from './engine-longshore.ts';
import { pgBoss } from './engine-pg-boss.ts';
import { rawLoop } from './engine-raw.ts';
import type { JobEngine } from './job-engine.ts';
import type { BenchRow, Round } from './row.ts';

const JOBS = 6_000;
/** Of those that would take too long with as many. */
const FEWER: Readonly<Record<string, number>> = { severalPlugins: 1_500, sandboxed: 3_000 };

export const rows: readonly BenchRow[] = [
  {
    id: 'M3',
    title:
      'durable jobs that do nothing in a thread: claimed with a lease, run, completed, logged; severalPlugins: of five; ours1000: with as many jobs in memory as pg-boss',
    ...{ unit: 'jobs/s', better: 'higher' },
    sides: {
      graphile: { is: 'peer', what: 'graphile-worker in batches, 24 jobs, local queue of 500, Piscina' },
      graphile120: { is: 'peer', what: 'graphile-worker, local queue of 96: as many jobs in memory as ours' },
      bull: { is: 'peer', what: 'BullMQ, concurrency 10, Piscina, Redis without a disk' },
      sandboxed: { is: 'peer', what: 'BullMQ sandboxed, 10 threads of its own' },
      pgBoss: { is: 'peer', what: 'pg-boss, two loops of fetch and complete of 500, Piscina' },
      pgBoss120: { is: 'peer', what: 'pg-boss, two loops of 60: as many jobs in memory as ours' },
      raw: { is: 'limit', what: 'two loops of one statement that completes 500 and claims 500, nothing done' },
    },
    bars: [
      { over: 'graphile', atLeast: 3 },
      { over: 'bull', atLeast: 5 },
      { over: 'sandboxed', atLeast: 10 },
      { over: 'pgBoss', atLeast: 4 },
      { over: 'raw', atLeast: 0.6 },
      { over: 'graphile120', atLeast: 1 },
      { over: 'pgBoss120', atLeast: 1 },
      { of: 'ours1000', over: 'graphile', atLeast: 1 },
      { of: 'ours1000', over: 'pgBoss', atLeast: 1 },
    ],
    async measure(rounds) {
      await using cleanup = new AsyncDisposableStack();
      const log = await mkdtemp(join(tmpdir(), 'longshore-bench-'));
      cleanup.defer(() => rm(log, { recursive: true, force: true }));
      const server = cleanup.use(await durableServer());
      const redis = cleanup.use(await redisServer());
      const product = (name: string, plugins: number, queueSize?: number) =>
        longshore(server, name, { plugins, log: join(log, 'longshore.log'), ...(queueSize ? { queueSize } : {}) });
      const engines: Readonly<Record<string, JobEngine>> = {
        ours: cleanup.use(await product('ours1', 1)),
        severalPlugins: cleanup.use(await product('ours5', 5)),
        graphile: cleanup.use(await graphile(server, 'graphile')),
        graphile120: cleanup.use(await graphile(server, 'graphile120', 96)),
        bull: cleanup.use(await bull(redis, 'bull', { sandboxed: false, concurrency: 10 })),
        sandboxed: cleanup.use(await bull(redis, 'sandboxed', { sandboxed: true, concurrency: 10 })),
        pgBoss: cleanup.use(await pgBoss(server, 'pgboss')),
        pgBoss120: cleanup.use(await pgBoss(server, 'pgboss120', 60)),
        ours1000: cleanup.use(await product('ours1000', 1, 980)),
        raw: cleanup.use(await rawLoop(server, 'raw', { claim: 500, loops: 2 })),
      };
      const round = async (): Promise<Round> => {
        const rates: Record<string, number> = {};
        for (const [name, engine] of Object.entries(engines)) {
          const jobs = FEWER[name] ?? JOBS;
          await engine.fill(jobs);
          rates[name] = (jobs * 1_000) / (await engine.drain(jobs, 'noop'));
        }
        return rates as Round;
      };
      await round();
      const measured = [];
      // A round is short, and how long a commit takes varies: the medians of five of them differ by a tenth between runs.
      for (let n = 0; n < 2 * rounds; n++) measured.push(await round());
      return measured;
    },
  },
];
