// The installation, the load on it, the faults meanwhile, and what is found at the end.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fetch } from 'undici';
import { systemClock } from '../../../engine/runtime/time.ts';
import { fasta, makeDatabase, mutated, randomNumbers, randomResidues } from '../blast.ts';
import { checkQueues, waitForReaders } from '../scale-out/end-state.ts';
import type { Findings } from '../scale-out/findings.ts';
import { Progress } from '../scale-out/progress.ts';
import { openSite, type Site, USERS } from '../scale-out/site.ts';
import type { Teardowns } from '../scale-out/teardowns.ts';
import { Calls } from './calls.ts';
import { Client } from './clients.ts';
import { faults } from './faults.ts';
import { figuresOf } from './figures.ts';
import { Model } from './model.ts';
import { MEASURES, Samples } from './samples.ts';
import { type Faults, rowFaults, storeFaults } from './state.ts';
import { Streams } from './streams.ts';

const PROCESSES = 3;
const CLIENTS_PER_USER = 3;
const QUERIES = 3;
const CURATED = 2_000;
const WARM_UP_MS = 120_000;
/** Of a shorter run, quarters say nothing: caches and heaps still fill. */
const JUDGED_MINUTES = 20;
const GROWTH = 1.1;
const LOOK_MS = 5_000;
const TELL_MS = 60_000;
/** Without any progress, once the load has ended. */
const PATIENCE_MS = 240_000;
const never = new AbortController().signal;

export interface SoakOptions {
  readonly minutes: number;
  readonly seed: number;
  /** Between faults, in milliseconds. */
  readonly every: number;
  /** Between two requests of a client, in milliseconds. */
  readonly pauseMs: number;
}

/** @returns figures */
export async function soak(t: Teardowns, options: SoakOptions, findings: Findings): Promise<object> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-soak-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const [databases, jobs] = [join(dir, 'databases'), join(dir, 'query-jobs')];
  for (const made of [databases, jobs]) await mkdir(made);
  const site = await openSite(t, {
    processes: PROCESSES,
    plugin: { importMs: 100, installMs: 50 },
    durable: true,
    killed: true,
    gib: 6 + Math.ceil(options.minutes / 3),
    // What the store announced while its broker was away is found by a full run.
    daemons: { reconciler: { slimRunInterval: '15s', fullRunInterval: '60s' } },
    sections: { report: { queryJobs: { root: jobs }, blastDb: databases }, access: {} },
  });
  const queries = await makeQueries(site, databases, options.seed);
  const curated = await makeStudies(site, dir);
  const progress = new Progress(t, site.at.cache);
  progress.say(`${PROCESSES} processes run; their logs are in ${site.logDir}`);
  const model = new Model();
  const calls = new Calls(site.processes);
  const samples = new Samples();
  const people = USERS.map((user, n) => ({ user, token: site.tokens[n] ?? '' }));
  const streams = new Streams(site.processes, people);
  const begun = systemClock.now();
  const isOver = (): boolean => systemClock.now() - begun >= options.minutes * 60_000;
  const clients = people.flatMap(({ user, token }, n) =>
    Array.from({ length: CLIENTS_PER_USER }, (_, at) => {
      const random = randomNumbers(options.seed * 1_000 + n * 10 + at);
      const ownerToken = people[0]?.token ?? '';
      return new Client({ user, token, ownerToken, calls, model, random, queries, curated, pauseMs: options.pauseMs });
    }),
  );
  const random = randomNumbers(options.seed);
  const [suffered] = await Promise.all([
    faults(site, { every: options.every, random, isOver }, progress),
    samples.run(site.processes, isOver),
    ...clients.map((client) => client.run(isOver)),
    tell(progress, model, isOver),
  ]);
  progress.say(`the load has ended; ${model.datasets.size} datasets`);
  await waitUntilHeld(site, model, progress);
  const told = await streams.end(model);
  await waitForReaders(site);
  report(findings, await rowFaults(site, model));
  report(findings, await storeFaults(site, model));
  findings.none('every stream has each event once and in order', told);
  findings.none('every answer is one that was to be expected, or asks to come again', calls.wrong);
  const lifetimes = samples.lifetimes(WARM_UP_MS);
  const longest = lifetimes.find(({ process }) => process.startsWith(`${site.processes[0]?.name} `));
  judge(options.minutes, longest?.quarters ?? [], progress, findings);
  const codes = await Promise.all(site.processes.map((serve) => serve.stop()));
  findings.none('every process stops in good order', codes.filter((code) => code !== 0).map(String));
  await checkQueues(site, findings);
  for (const serve of site.processes)
    for (const line of serve.errors().slice(0, 5)) console.log(`     ${serve.name} logged ${line.slice(0, 600)}`);
  if (findings.failed === 0) await rm(site.logDir, { recursive: true });
  const { connections } = streams;
  return figuresOf({ options, model, calls, suffered, lifetimes, connections });
}

function report(findings: Findings, all: Faults): void {
  for (const [fact, wrong] of Object.entries(all)) findings.none(fact, wrong);
}

/** Until the databases say what they should, or nothing moves any more. */
async function waitUntilHeld(site: Site, model: Model, progress: Progress): Promise<void> {
  let fewest = Number.POSITIVE_INFINITY;
  for (let since = systemClock.now(); systemClock.now() - since < PATIENCE_MS; ) {
    const now = Object.values(await rowFaults(site, model)).flat();
    if (now.length === 0) return;
    if (now.length < fewest) {
      since = systemClock.now();
      fewest = now.length;
      progress.say(`${now.length} things to come, such as ${now[0]?.slice(0, 200)}; ${await progress.jobs()}`);
    }
    await systemClock.sleep(LOOK_MS, never);
  }
}

async function tell(progress: Progress, model: Model, isOver: () => boolean): Promise<void> {
  for (let said = systemClock.now(); !isOver(); await systemClock.sleep(500, never)) {
    if (systemClock.now() - said < TELL_MS) continue;
    said = systemClock.now();
    progress.say(`${model.datasets.size} datasets, ${model.reports.size} reports; ${await jobsOf(progress)}`);
  }
}

/** The cache database may be away. */
const jobsOf = (progress: Progress): Promise<string> => progress.jobs().catch((error: Error) => error.message);

function judge(
  minutes: number,
  quarters: readonly Readonly<Partial<Record<(typeof MEASURES)[number], number>>>[],
  progress: Progress,
  findings: Findings,
): void {
  const [first, last] = [quarters[0] ?? {}, quarters.at(-1) ?? {}];
  for (const name of MEASURES) {
    const [from, to] = [first[name] ?? Number.NaN, last[name] ?? Number.NaN];
    const said = `${from.toFixed(1)} in the first quarter, ${to.toFixed(1)} in the last`;
    if (minutes < JUDGED_MINUTES)
      progress.say(`${name} of serve-1: ${said} (judged from ${JUDGED_MINUTES} minutes on)`);
    else findings.holds(`${name} of a process that lives on grows by less than 10 %`, to <= from * GROWTH, said);
  }
}

/** Searches whose results are reported on. */
async function makeQueries(site: Site, dir: string, seed: number): Promise<readonly string[]> {
  const random = randomNumbers(seed);
  const core = randomResidues('nucleotide', 400, random);
  const sequences = Array.from({ length: 40 }, (_, n) => ({
    title: `seq${n}`,
    residues: mutated(core, 0.01 * n, 'nucleotide', random),
  }));
  await makeDatabase({ dir, name: 'soak', molecule: 'nucleotide', sequences });
  const ids: string[] = [];
  for (let n = 0; n < QUERIES; n++) {
    const file = join(dir, `query${n}.fa`);
    await writeFile(file, fasta([{ title: `q${n}`, residues: core.slice(n * 50) }]));
    ids.push(await site.command('query', 'run', '--program', 'blastn', '--db', 'soak', '--query', file));
  }
  return ids;
}

/** Studies that access is requested to, and the one who decides. */
async function makeStudies(site: Site, dir: string): Promise<readonly string[]> {
  const ids = Array.from({ length: CURATED }, (_, n) => `STUDY_${n}`);
  const file = join(dir, 'studies.yaml');
  const lines = ids.map(
    (id) => `  - { datasetId: ${id}, studyId: S_${id}, displayName: Name ${id}, restrictionLevel: private }\n`,
  );
  await writeFile(file, `datasets:\n${lines.join('')}`);
  await site.command('access', 'import', file);
  const headers = { 'admin-token': 'a'.repeat(40), 'content-type': 'application/json' };
  const body = JSON.stringify({ userId: Number(USERS[0]), isOwner: true });
  const response = await fetch(`${site.processes[0]?.urlOf('access')}/staff`, { method: 'POST', headers, body });
  if (response.status !== 200) throw new Error(`POST /staff: ${response.status} ${await response.text()}`);
  return ids;
}
