// M5: how long a job waits that comes to an idle worker: from asking for it, durably, to its start in the lane.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { durableServer } from './durable-server.ts';
import { graphile } from './engine-graphile.ts';
import { longshore } from './engine-longshore.ts';
import { rawLoop } from './engine-raw.ts';
import type { JobEngine } from './job-engine.ts';
import { type BenchRow, latencies, type Round } from './row.ts';

/** One each 10 ms. */
const JOBS = 300;

export const rows: readonly BenchRow[] = [
  {
    id: 'M5',
    title:
      'a durable job that comes to an idle lane: median from asking for it to its start; p99: of the 99th percentile',
    ...{ unit: 'ms', better: 'lower' },
    sides: {
      raw: { is: 'limit', what: 'a bare LISTEN, one statement to add and notify, one to claim' },
      graphile: { is: 'peer', what: 'graphile-worker in batches' },
    },
    bars: [
      { over: 'raw', atMost: 1 },
      { of: 'p99', over: 'graphileP99', atMost: 0.25 },
    ],
    async measure(rounds) {
      await using cleanup = new AsyncDisposableStack();
      const dir = await mkdtemp(join(tmpdir(), 'longshore-bench-'));
      cleanup.defer(() => rm(dir, { recursive: true, force: true }));
      const server = cleanup.use(await durableServer());
      const ours = cleanup.use(await longshore(server, 'ours', { plugins: 1, log: join(dir, 'longshore.log') }));
      const raw = cleanup.use(await rawLoop(server, 'raw', { claim: 100, loops: 1 }));
      const peer = cleanup.use(await graphile(server, 'graphile'));
      // Datasets that the jobs are of.
      await ours.fill(JOBS);
      await ours.drain(JOBS, 'noop');
      const of = async (engine: JobEngine) => latencies((await engine.pickups?.(JOBS)) ?? []);
      const round = async (): Promise<Round> => {
        const [own, bare, other] = [await of(ours), await of(raw), await of(peer)];
        return {
          ...{ ours: own.p50, p99: own.p99, raw: bare.p50, rawP99: bare.p99 },
          ...{ graphile: other.p50, graphileP99: other.p99 },
        };
      };
      await round();
      const measured = [];
      for (let n = 0; n < rounds; n++) measured.push(await round());
      return measured;
    },
  },
];
