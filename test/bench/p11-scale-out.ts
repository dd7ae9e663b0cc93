// P11: what it costs to share the work of one installation among several processes of `longshore serve`: their processor time
// for a dataset on two targets. Beside it, what the services take, each apart, and what one process takes whose events do not
// go through Kafka, and whose store needs no RabbitMQ. PostgreSQL syncs to disk. The plugin, which only writes rows, and the
// uploads run in the measuring process and are not counted. With four cores or more, the rate counts too.

import { rm } from 'node:fs/promises';
import { cpus } from 'node:os';
import { systemClock } from '../../engine/runtime/time.ts';
import { openSite } from '../stack/scale-out/site.ts';
import { Teardowns } from '../stack/scale-out/teardowns.ts';
import { durableServer } from './durable-server.ts';
import { cpuSeconds, mainThreadSeconds, processTree } from './processes.ts';
import { type BenchRow, DATASETS, latencies, type Round } from './row.ts';
import { Services } from './stack-services.ts';
import { openWay, type Way } from './stack-ways.ts';

const COUNT = DATASETS ?? 300;
/** Of each process. A dataset costs two thirds more among the first 100 than after 250, when all of its code is compiled. */
const WARM_UP = Math.min(COUNT, 300);
/** Uploaded one after the other on an idle stack. */
const ALONE = Math.min(COUNT, 40);
const PROCESSES = 3;
/** With fewer cores than this, more processes cannot be faster. */
const CORES = 4;
const LINEAR = 0.85;
/** PostgreSQL tells what a connection did ten seconds after it fell idle, or sooner. */
const IDLE_MS = 11_000;
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
      'no Kafka': { is: 'anchor', what: 'one process, events in the cache database in place of Kafka' },
      embedded: { is: 'anchor', what: 'one process with a directory as its store, without Kafka, RabbitMQ and S3' },
    },
    bars: [
      { over: 'one', atMost: 1.15 },
      { of: 'two', over: 'one', atMost: 1.15 },
      ...(cpus().length < CORES ? [] : [{ of: 'rate of three', over: 'rate of one', atLeast: LINEAR * PROCESSES }]),
    ],
    async measure(rounds) {
      await using cache = await durableServer({ maxConnections: CONNECTIONS });
      await using sites = await durableServer({ maxConnections: CONNECTIONS });
      const { port, password } = cache.postgres;
      Object.assign(process.env, { LONGSHORE_TEST_POSTGRES: String(port), LONGSHORE_TEST_PASSWORD: password });
      await using t = new Teardowns();
      const site = await openSite(t, {
        ...{ processes: 0, plugin: { importMs: 0, installMs: 0 }, durable: true, siteServer: sites.postgres },
        // A run at each start would compare all that was uploaded before; P10 measures it.
        daemons: { reconciler: { enabled: false } },
      });
      t.teardown(() => rm(site.logDir, { recursive: true }));
      const services = await Services.open(t, site.at, cache, sites);
      const ways: Readonly<Record<string, Way>> = {
        one: await openWay(t, site, 'one', 1),
        two: await openWay(t, site, 'two', 2),
        three: await openWay(t, site, 'three', PROCESSES),
        'no Kafka': await openWay(t, site, 'no-kafka', 1),
        embedded: await openWay(t, site, 'embedded', 1),
      };
      // The brokers are new. What Kafka's Java machine compiles in its first minutes is no work of a dataset.
      await measured(ways.three as Way, services);
      const all: Round[] = [];
      for (let n = 0; n < rounds; n++) {
        const round: Record<string, number> = {};
        for (const [name, way] of Object.entries(ways)) {
          const { ours, ...figures } = await measured(way, services);
          round[name] = ours;
          for (const [what, figure] of Object.entries(figures)) round[`${what} of ${name}`] = figure;
        }
        const { three = Number.NaN, ...others } = round;
        all.push({ ours: three, ...others });
      }
      return all;
    },
  },
];

/** By its processes, which are started for it. Milliseconds of processor time and counts per dataset; datasets a second. */
async function measured(way: Way, services: Services): Promise<Round> {
  for (const serve of way.processes) await serve.start();
  await way.installed(WARM_UP * way.processes.length);
  const alone: number[] = [];
  if (way.processes.length === 1) for (let n = 0; n < ALONE; n++) alone.push(await way.untilInstalled());
  const cpu = () => ({
    ours: cpuSeconds(way.processes.flatMap(({ pid }) => processTree(pid))),
    'main threads': mainThreadSeconds(way.processes.map(({ pid }) => pid)),
    ...services.cpu(),
  });
  const snapshot = async () => ({ ...(await services.counts()), ...cpu() }) as Record<string, number>;
  await systemClock.sleep(IDLE_MS);
  const [idleAt, idleBegun] = [performance.now(), await snapshot()];
  await systemClock.sleep(IDLE_MS);
  const [at, begun] = [performance.now(), await snapshot()];
  await way.installed(COUNT);
  const took = performance.now() - at;
  const connections = await services.connections();
  await systemClock.sleep(IDLE_MS);
  const [endAt, end] = [performance.now(), await snapshot()];
  const times = cpu();
  for (const serve of way.processes) await serve.stop();
  // Less what they do when they have nothing to do.
  const perDataset = (what: string): number => {
    const [first = 0, from = 0, to = 0] = [idleBegun[what], begun[what], end[what]];
    const work = to - from - ((from - first) / (at - idleAt)) * (endAt - at);
    return (work * (what in times ? 1_000 : 1)) / COUNT;
  };
  const { ours = Number.NaN, ...rest } = Object.fromEntries(Object.keys(end).map((what) => [what, perDataset(what)]));
  return {
    ...{ ours, ...rest, ...connections, rate: (COUNT * 1_000) / took },
    ...(alone.length > 0 && { 'ms until installed': latencies(alone).p50 }),
  };
}
