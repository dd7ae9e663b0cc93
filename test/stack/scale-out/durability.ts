// Several processes on one installation, datasets uploaded through all of them, and a storm meanwhile: nothing may be lost
// and nothing doubled.

import { rm } from 'node:fs/promises';
import { checkDatasets, checkQueues, waitForReaders } from './end-state.ts';
import type { Findings } from './findings.ts';
import { Progress } from './progress.ts';
import { openSite, type Site } from './site.ts';
import { durationOf, type StormOptions, storm } from './storm.ts';
import { Teardowns } from './teardowns.ts';
import { Uploads } from './uploads.ts';

const PROCESSES = 3;
/** Back-offs and time-outs may add up, on a machine that is busy with others. */
const PATIENCE_MS = 240_000;
const SLIM_RUN = '15s';

export interface DurabilityOptions extends StormOptions {
  readonly datasets: number;
}

export async function durability(
  options: DurabilityOptions,
  stopped: Promise<never>,
  findings: Findings,
): Promise<void> {
  await using t = new Teardowns();
  await Promise.race([inAStorm(t, options, findings), stopped]);
}

async function inAStorm(t: Teardowns, options: DurabilityOptions, findings: Findings): Promise<void> {
  const site = await openSite(t, {
    processes: PROCESSES,
    plugin: { importMs: 100, installMs: 100 },
    durable: options.outages,
    killed: options.outages,
    daemons: { reconciler: { slimRunInterval: SLIM_RUN } },
  });
  await through(t, site, options, findings);
}

async function through(t: Teardowns, site: Site, options: DurabilityOptions, findings: Findings): Promise<void> {
  const progress = new Progress(t, site.at.cache);
  progress.say(`${PROCESSES} processes run; their logs are in ${site.logDir}`);
  const uploads = new Uploads({
    urls: site.processes.map(({ url }) => url),
    tokens: site.tokens,
    count: options.datasets,
    spreadOver: durationOf(options),
  });
  let isOver = false;
  const doing = Promise.all([uploads.run(), storm(site, options, progress)]).finally(() => {
    isOver = true;
  });
  // A fault that could not be injected ends the run at once, with everything taken down.
  const finished = await Promise.race([
    progress.finished(() => isOver, PATIENCE_MS),
    doing.then(() => new Promise<never>(() => undefined)),
  ]);
  const { datasets, installed } = await progress.counts();
  progress.say(`${installed} of ${datasets} installed; uploads were answered ${answers(uploads)}`);
  findings.holds('everything comes to an end', finished, await progress.jobs());
  await waitForReaders(site);
  await checkDatasets(site, uploads, findings);
  const codes = await Promise.all(site.processes.map((serve) => serve.stop()));
  findings.none('every process stops in good order', codes.filter((code) => code !== 0).map(String));
  await checkQueues(site, findings);
  for (const serve of site.processes)
    for (const line of serve.errors().slice(0, 5)) console.log(`     ${serve.name} logged ${line.slice(0, 600)}`);
  if (findings.failed === 0) await rm(site.logDir, { recursive: true });
}

const answers = ({ answers }: Uploads): string =>
  [...answers].map(([status, count]) => `${status || 'not at all'}: ${count}`).join(', ');
