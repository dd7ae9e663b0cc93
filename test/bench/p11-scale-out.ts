// P11: what it costs to share the work of one installation among several processes of `longshore serve`: their processor time
// for a dataset on two targets. PostgreSQL syncs to disk; Kafka, RabbitMQ, radosgw, the directory and the plugin, which only
// writes rows, are not counted. With four cores or more, the rate counts too.

import { rm } from 'node:fs/promises';
import { cpus } from 'node:os';
import { systemClock } from '../../engine/runtime/time.ts';
import { Progress } from '../stack/scale-out/progress.ts';
import { openSite, type Site } from '../stack/scale-out/site.ts';
import { Teardowns } from '../stack/scale-out/teardowns.ts';
import { Uploads } from '../stack/scale-out/uploads.ts';
import { durableServer } from './durable-server.ts';
import { cpuSeconds, processTree } from './processes.ts';
import { type BenchRow, DATASETS, type Round } from './row.ts';

const COUNT = DATASETS ?? 300;
/** Of each process, which has compiled nothing yet when it starts. */
const WARM_UP = Math.min(COUNT, 60);
const PROCESSES = 3;
/** With fewer cores than this, more processes cannot be faster. */
const CORES = 4;
const LINEAR = 0.85;
const IDLE_MS = 5_000;
const PATIENCE_MS = 120_000;
/** Of the three processes, their pools, and the sites. */
const CONNECTIONS = 400;

export const rows: readonly BenchRow[] = [
  {
    id: 'P11',
    title: `processor time per dataset of ${PROCESSES} processes on the full stack, ${COUNT} datasets on two targets`,
    unit: 'ms',
    better: 'lower',
    sides: {
      one: { is: 'anchor', what: 'the same of one process' },
      two: { is: 'anchor', what: 'the same of two processes' },
    },
    bars: [
      { over: 'one', atMost: 1.15 },
      { of: 'two', over: 'one', atMost: 1.15 },
      ...(cpus().length < CORES ? [] : [{ of: 'rate of three', over: 'rate of one', atLeast: LINEAR * PROCESSES }]),
    ],
    async measure(rounds) {
      await using server = await durableServer({ maxConnections: CONNECTIONS });
      const { port, password } = server.postgres;
      Object.assign(process.env, { LONGSHORE_TEST_POSTGRES: String(port), LONGSHORE_TEST_PASSWORD: password });
      await using t = new Teardowns();
      const site = await openSite(t, { processes: PROCESSES, plugin: { importMs: 0, installMs: 0 }, durable: true });
      t.teardown(() => rm(site.logDir, { recursive: true }));
      const progress = new Progress(t, site.at.cache);
      for (const serve of site.processes) await serve.stop();
      const measured: Round[] = [];
      for (let n = 0; n < rounds; n++) {
        const [one, two, three] = [
          await shared(site, progress, 1),
          await shared(site, progress, 2),
          await shared(site, progress, PROCESSES),
        ];
        measured.push({
          ...{ ours: three.cpuMs, one: one.cpuMs, two: two.cpuMs },
          ...{ 'rate of one': one.rate, 'rate of two': two.rate, 'rate of three': three.rate },
        });
      }
      return measured;
    },
  },
];

interface Shared {
  readonly cpuMs: number;
  /** Datasets a second. */
  readonly rate: number;
}

/** By so many processes, which are started for it. */
async function shared(site: Site, progress: Progress, count: number): Promise<Shared> {
  const running = site.processes.slice(0, count);
  for (const serve of running) await serve.start();
  const urls = running.map(({ url }) => url);
  const installed = async (datasets: number): Promise<void> => {
    await new Uploads({ urls, tokens: site.tokens, count: datasets, spreadOver: 0 }).run();
    if (await progress.finished(() => true, PATIENCE_MS)) return;
    throw new Error(`it does not end: ${await progress.jobs()}`);
  };
  const used = (): number => cpuSeconds(running.flatMap(({ pid }) => processTree(pid)));
  await installed(WARM_UP * count);
  const [idleBegun, idleAt] = [used(), performance.now()];
  await systemClock.sleep(IDLE_MS);
  const [begun, at] = [used(), performance.now()];
  await installed(COUNT);
  const took = performance.now() - at;
  // Less what they take when they have nothing to do.
  const idle = ((begun - idleBegun) / (at - idleAt)) * took;
  const cpuMs = ((used() - begun - idle) * 1_000) / COUNT;
  for (const serve of running) await serve.stop();
  return { cpuMs, rate: (COUNT * 1_000) / took };
}
