// Datasets a second that one process and several of them import and install, when a plugin takes half a second for each and
// every lane has two workers: the lanes are the limit, not the machine. Measured on a backlog, uploaded before.

import { rm } from 'node:fs/promises';
import { systemClock } from '../../../engine/runtime/time.ts';
import type { Findings } from './findings.ts';
import { Progress } from './progress.ts';
import { openSite } from './site.ts';
import { Teardowns } from './teardowns.ts';
import { Uploads } from './uploads.ts';

const LANES = [
  ...['upload', 'import', 'install', 'hardDelete', 'softDelete', 'sharing', 'updateMeta', 'reconciliation'],
] as const;
const PLUGIN_MS = 500;
const PROCESSES = 3;
const PATIENCE_MS = 120_000;
const LEAST_RATIO = 2;

export async function throughput(datasets: number, stopped: Promise<never>, findings: Findings): Promise<void> {
  const one = await rate(1, datasets, stopped);
  const several = await rate(PROCESSES, datasets, stopped);
  const ratio = several / one;
  const said = `1 process ${one.toFixed(2)}/s, ${PROCESSES} processes ${several.toFixed(2)}/s, ratio ${ratio.toFixed(2)}`;
  console.log(`         throughput: ${said}`);
  findings.holds(`${PROCESSES} processes do at least ${LEAST_RATIO} times the work of one`, ratio >= LEAST_RATIO, said);
}

/** Installed datasets a second. */
async function rate(processes: number, datasets: number, stopped: Promise<never>): Promise<number> {
  await using t = new Teardowns();
  return await Promise.race([measured(t, processes, datasets), stopped]);
}

async function measured(t: Teardowns, processes: number, datasets: number): Promise<number> {
  const site = await openSite(t, {
    processes,
    plugin: { importMs: PLUGIN_MS, installMs: 0 },
    lanes: Object.fromEntries(LANES.map((lane) => [lane, { workerCount: 2 }])),
  });
  const progress = new Progress(t, site.at.cache);
  site.plugin.hold();
  t.teardown(() => site.plugin.release());
  const uploads = new Uploads({
    urls: site.processes.map(({ url }) => url),
    tokens: site.tokens,
    count: datasets,
    spreadOver: 0,
  });
  await uploads.run();
  await progress.uploaded(datasets);
  const begun = systemClock.now();
  site.plugin.release();
  if (!(await progress.finished(() => true, PATIENCE_MS))) throw new Error(`it does not end: ${await progress.jobs()}`);
  const seconds = (systemClock.now() - begun) / 1000;
  for (const serve of site.processes) await serve.stop();
  await rm(site.logDir, { recursive: true });
  progress.say(`${processes} of them: ${datasets} datasets in ${seconds.toFixed(1)} s`);
  return datasets / seconds;
}
