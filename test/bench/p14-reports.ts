// P14: many reports of a small archive, asked for at once, until the last is complete, beside two shells that run the bare
// formatter one after the other.

import { execFile } from 'node:child_process';
import { readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '../../engine/runtime/time.ts';
import { fasta, makeDatabase, mutated, randomNumbers, randomResidues } from '../stack/blast.ts';
import { type ReportSite, reportSite } from '../support/report-site.ts';
import { run } from '../support/run-command.ts';
import { openedOnce } from './opened-once.ts';
import { type BenchRow, DATASETS } from './row.ts';

const JOBS = DATASETS ?? 1_000;
const HITS = 20;
const AT_ONCE = 8;
/** Two looks are under one in a hundred of a round. */
const LOOK_MS = 50;
const LOOKED_AT = 50;
const FORMATTER = '/usr/bin/blast_formatter';

interface Bench extends AsyncDisposable {
  readonly site: ReportSite;
  readonly search: string;
  readonly archive: string;
}

const sites = openedOnce(open);
export const close = sites.close;
let limit = HITS;

export const rows: readonly BenchRow[] = [
  {
    id: 'P14',
    title: `${JOBS} reports of a small archive as a table, asked for at once, until all are complete`,
    unit: 'reports/s',
    better: 'higher',
    sides: { loop: { is: 'limit', what: 'blast_formatter with the same options by two shells, two at a time' } },
    bars: [{ over: 'loop', atLeast: 0.85 }],
    async measure(rounds) {
      const bench = await sites.get();
      await round(bench);
      const measured = [];
      for (let n = 0; n < rounds; n++) measured.push(await round(bench));
      return measured;
    },
  },
];

/** Each limit is above the number of hits: the reports are the same, and the jobs are others. */
async function round(bench: Bench): Promise<{ readonly ours: number; readonly loop: number }> {
  const limits = Array.from({ length: JOBS }, () => limit++);
  const rate = (ms: number): number => (JOBS / ms) * 1_000;
  let begun = performance.now();
  const jobs = await reports(bench, limits);
  const ours = rate(performance.now() - begun);
  begun = performance.now();
  await bare(bench, limits);
  const loop = rate(performance.now() - begun);
  const [made, wanted] = [
    await bench.site.files(jobs.at(-1) ?? ''),
    await readFile(bareFile(bench, limits.at(-1) ?? 0)),
  ];
  if (!made.get('report.tsv')?.equals(wanted)) throw new Error('the report is not that of the bare formatter');
  return { ours, loop };
}

async function reports({ site, search }: Bench, limits: readonly number[]): Promise<readonly string[]> {
  const left = limits.values();
  const jobs: string[] = [];
  const worker = async (): Promise<void> => {
    for (const maxTargetSequences of left)
      jobs.push(await site.submit(search, { formatType: 'tabular', maxTargetSequences }));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  for (const pending = new Set(jobs); pending.size > 0; await systemClock.sleep(LOOK_MS)) {
    const { body } = await site.call('POST', '/statuses', [...pending].slice(0, LOOKED_AT));
    for (const [job, status] of Object.entries(body as Record<string, string>)) {
      if (status === 'failed') throw new Error('a report failed');
      if (status === 'complete') pending.delete(job);
    }
  }
  return jobs;
}

const bareFile = ({ site }: Bench, one: number): string => join(site.dir, `bare${one}`);

async function bare(bench: Bench, limits: readonly number[]): Promise<void> {
  const { site, archive } = bench;
  const loop = 'while read n out; do "$0" -archive "$1" -outfmt 6 -max_target_seqs $n -out "$out"; done <"$2"';
  const env = { PATH: process.env.PATH, HOME: site.dir, BLASTDB: site.databases, BLAST_USAGE_REPORT: 'false' };
  const half = async (which: number): Promise<void> => {
    const list = join(site.dir, `limits${which}`);
    const mine = limits.filter((one) => one % 2 === which).map((one) => `${one} ${bareFile(bench, one)}\n`);
    await writeFile(list, mine.join(''));
    await promisify(execFile)('/bin/sh', ['-ec', loop, FORMATTER, archive, list], { cwd: site.dir, env });
  };
  await Promise.all([half(0), half(1)]);
}

async function open(): Promise<Bench> {
  const cleanup: (() => unknown)[] = [];
  const t = { teardown: (fn: () => unknown): void => void cleanup.unshift(fn) };
  const site = await reportSite(t, '');
  // The program itself, and no shell in front of it.
  const program = join(site.dir, 'bin', 'blast_formatter');
  await rm(program);
  await symlink(FORMATTER, program);
  const random = randomNumbers(9);
  const core = randomResidues('nucleotide', 600, random);
  const sequences = Array.from({ length: HITS }, (_, i) => ({
    title: `s${i}`,
    residues: mutated(core, 0.02, 'nucleotide', random),
  }));
  await makeDatabase({ dir: site.databases, name: 'small', molecule: 'nucleotide', sequences });
  const file = join(site.databases, 'query.fa');
  await writeFile(file, fasta([{ title: 'q', residues: core }]));
  const args = ['run', '--config', site.config, '--program', 'blastn', '--db', 'small', '--query', file];
  const { out, err } = await run('query', args, { PATH: process.env.PATH });
  const search = out.trim();
  if (search === '') throw new Error(`the search failed: ${err}`);
  await site.start();
  return {
    ...{ site, search, archive: join(site.queryJobs, search, 'report.asn1') },
    async [Symbol.asyncDispose]() {
      for (const fn of cleanup) await fn();
    },
  };
}
