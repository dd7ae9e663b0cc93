// P13: jobs from a durable queue to threads and back: claimed, run in a thread (nothing is done there), completed; fsync is on.
// Every engine has the same threads and may have as many jobs in memory, which decides how many share a round trip and a
// commit; River runs its jobs in goroutines, once with as many jobs and once with the settings of its own benchmark. All but
// BullMQ are on one PostgreSQL server, with the same settings. The processor time per job is that of the engine and its server.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { durableServer, redisServer } from './durable-server.ts';
import { bull } from './engine-bull.ts';
import { graphile } from './engine-graphile.ts';
import { longshore } from './engine-longshore.ts';
import { pgBoss } from './engine-pg-boss.ts';
import { rawLoop } from './engine-raw.ts';
import { river } from './engine-river.ts';
import type { JobEngine } from './job-engine.ts';
import { cpuSeconds, processTree } from './processes.ts';
import { postmasterOf } from './product.ts';
import { type BenchRow, DATASETS, type Round } from './row.ts';

const JOBS = DATASETS ?? 6_000;
/** Jobs in memory: 100 that wait and 20 at work are the most that our configuration takes. */
const WIDTH = 120;
/** Of `river bench`. */
const RIVER_WORKERS = 2_000;

export const rows: readonly BenchRow[] = [
  {
    id: 'P13',
    title: `durable jobs that do nothing in a thread: claimed with a lease, run, completed; ${WIDTH} in memory`,
    ...{ unit: 'jobs/s', better: 'higher' },
    sides: {
      graphile: { is: 'peer', what: 'graphile-worker in batches, 24 jobs and a local queue, Piscina' },
      pgBoss: { is: 'peer', what: 'pg-boss, two loops of fetch and complete, Piscina' },
      bull: { is: 'peer', what: 'BullMQ, Piscina, Redis with appendfsync always' },
      river: { is: 'anchor', what: `River (Go), its own settings for speed: ${RIVER_WORKERS} workers` },
      'river as wide': { is: 'anchor', what: `River (Go), ${WIDTH} workers` },
      raw: { is: 'limit', what: 'two loops of one statement that completes a batch and claims the next, nothing done' },
    },
    bars: [
      { over: 'raw', atLeast: 0.6 },
      { over: 'graphile', atLeast: 1 },
      { over: 'pgBoss', atLeast: 1 },
      { over: 'bull', atLeast: 1 },
    ],
    async measure(rounds) {
      await using cleanup = new AsyncDisposableStack();
      const log = await mkdtemp(join(tmpdir(), 'longshore-bench-'));
      cleanup.defer(() => rm(log, { recursive: true, force: true }));
      const server = cleanup.use(await durableServer());
      const redis = cleanup.use(await redisServer());
      const engines: Readonly<Record<string, JobEngine>> = {
        ours: cleanup.use(await longshore(server, 'ours', join(log, 'longshore.log'))),
        graphile: cleanup.use(await graphile(server, 'graphile', WIDTH)),
        pgBoss: cleanup.use(await pgBoss(server, 'pgboss', WIDTH)),
        bull: cleanup.use(await bull(redis, 'bull', WIDTH)),
        river: cleanup.use(await river(server, 'river', RIVER_WORKERS)),
        'river as wide': cleanup.use(await river(server, 'river_as_wide', WIDTH)),
        raw: cleanup.use(await rawLoop(server, 'raw', WIDTH)),
      };
      const postmaster = await postmasterOf(server.dir);
      // The engines that do not work wait for commands, or for the next drain.
      const used = (): number => cpuSeconds(processTree(process.pid), postmaster);
      const round = async (): Promise<Round> => {
        const figures: Record<string, number> = {};
        for (const [name, engine] of Object.entries(engines)) {
          await engine.fill(JOBS);
          const begun = used();
          figures[name] = (JOBS * 1_000) / (await engine.drain(JOBS));
          figures[`CPU us of ${name}`] = ((used() - begun) * 1e6) / JOBS;
        }
        return figures as Round;
      };
      await round();
      const measured = [];
      // A round is short, and how long a commit takes varies: the medians of five of them differ by a tenth between runs.
      for (let n = 0; n < 2 * rounds; n++) measured.push(await round());
      return measured;
    },
  },
];
