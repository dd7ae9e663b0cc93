// Runs of report jobs with the real formatter, on databases and results of the real programs.

import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Formatter, type FormatterOptions } from '../../actors/report/formatter.ts';
import { runReport } from '../../actors/report/report-lane.ts';
import { ReportFolders, ReportRun, reportMetrics } from '../../actors/report/report-run.ts';
import { archivesHere } from '../../actors/tasks/archives.ts';
import { BlastDatabaseFiles } from '../../engine/adapters/blast/blast-database.ts';
import { QueryJobsDirectory } from '../../engine/adapters/blast/query-jobs-directory.ts';
import { ChildProcessRunner } from '../../engine/adapters/scripts/child-process.ts';
import { tenantOfUser, type UserId } from '../../engine/model/ids.ts';
import { type BlastConfig, resolveConfig } from '../../engine/model/report/blast-config.ts';
import { outputOf } from '../../engine/model/report/command-line.ts';
import { FORMAT_TYPE_NAMES } from '../../engine/model/report/format-types.ts';
import type { QueryJobId } from '../../engine/model/report/query-job.ts';
import { reportFileKey, reportJobId } from '../../engine/model/report/report-job.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { FakeObjectStore } from '../fakes/fake-object-store.ts';
import { unzip } from '../support/unzip.ts';
import { blastDirectory, fasta, makeDatabase, mutated, randomNumbers, randomResidues, search } from './blast.ts';

const signal = new AbortController().signal;
const QUERY = 'ab'.repeat(16) as QueryJobId;
const LIMITS = { path: process.env.PATH ?? '', maxDurationMs: 60_000, maxOutputBytes: 50_000_000 };

/** Thirty sequences, three queries, and a way to make reports of their search. */
async function setup(t: Test, limits: Partial<FormatterOptions> = {}) {
  const dir = await blastDirectory(t);
  const random = randomNumbers(3);
  const core = randomResidues('nucleotide', 400, random);
  const sequences = Array.from({ length: 30 }, (_, i) => ({
    title: `seq${i}`,
    residues: mutated(core, 0.01 * i, 'nucleotide', random),
  }));
  const spec = { dir, name: 'db', molecule: 'nucleotide', sequences } as const;
  await makeDatabase(spec);
  const query = join(dir, 'query.fa');
  await writeFile(query, fasta([0, 1, 2].map((n) => ({ title: `q${n}`, residues: core.slice(n * 50) }))));
  const databases = new BlastDatabaseFiles({ searchPath: [dir] });
  const fingerprint = await databases.fingerprint(['db'], 'nucleotide', signal);
  const queries = new QueryJobsDirectory({ root: dir });
  const job = { id: QUERY, program: 'blastn', databases: ['db'], fingerprint, status: 'complete' } as const;
  await using folder = await queries.begin(systemClock);
  await search('blastn', { dir, database: 'db', query, out: folder.archive });
  await folder.keep(job);
  const store = new FakeObjectStore();
  const [clock, log] = [systemClock, silentLogger()];
  const runner = new ChildProcessRunner({ stateDir: join(dir, 'running'), graceMs: 200, drainMs: 200 }, clock, log);
  t.teardown(() => runner[Symbol.asyncDispose]());
  const options = { ...LIMITS, searchPath: [dir], ...limits };
  const work = join(dir, 'work');
  const run = new ReportRun(options, {
    ...{ queries, databases, store, clock, log, zip: archivesHere.zip, folders: new ReportFolders(work) },
    metrics: reportMetrics(new Metrics()),
    formatter: new Formatter(options, runner, clock),
  });
  const tenant = tenantOfUser('7' as UserId);
  const make = async (config: BlastConfig, attempt = 1) => {
    const configuration = resolveConfig(config);
    const id = reportJobId(configuration, job);
    const claim = { id, queryId: QUERY, configuration, fingerprint, attempt, attempts: 0, waitedMs: 0, tenant };
    const outcome = await runReport(claim, { run, clock, log, random: () => 0 }, signal);
    t.strictSame(await readdir(work).catch(() => []), []);
    const bytesOf = async (name: string): Promise<Buffer> => {
      const opened = await store.get(reportFileKey(id, attempt, name), undefined, signal);
      return Buffer.concat(opened ? await opened.body.toArray() : []);
    };
    return { outcome, bytesOf };
  };
  return { dir, spec, store, make };
}

t.test('every format type is made, and its archive holds the same files', async (t) => {
  const { make, store, dir } = await setup(t);
  for (const formatType of FORMAT_TYPE_NAMES) {
    const { outcome, bytesOf } = await make({ formatType });
    if (outcome.kind !== 'complete') throw new Error(`${formatType}: ${JSON.stringify(outcome)}`);
    const names = outcome.files.map(({ name }) => name);
    const { file, parts } = outputOf(formatType);
    const others = parts ? [1, 2, 3].map((n) => file.replace('.', `_${n}.`)) : [];
    t.strictSame(names, [file, ...others, 'report.zip'], formatType);
    const zipped = await unzip(await bytesOf('report.zip'));
    t.strictSame([...zipped.keys()], names.slice(0, -1));
    for (const { name, size } of outcome.files) {
      const bytes = await bytesOf(name);
      t.equal(bytes.length, size);
      if (name === 'report.zip') continue;
      t.ok(size > 0, `${formatType} ${name}`);
      t.ok(zipped.get(name)?.equals(bytes), `${formatType} ${name}`);
      t.notOk(bytes.includes(dir), `${formatType} ${name} names no directory of the server`);
    }
    const index = (await bytesOf(file)).toString();
    if (parts) t.strictSame([...new Set(index.match(/report_[^"]+/g))], others, 'the index names files that exist');
    const again = await make({ formatType }, 2);
    t.ok((await again.bytesOf('report.zip')).equals(await bytesOf('report.zip')), 'made again, it is the same');
  }
  t.ok(store.keys().length > 2 * FORMAT_TYPE_NAMES.length);
});

t.test('a database that was made anew in another order fails the job before it is read wrong', async (t) => {
  const { make, spec, store } = await setup(t);
  await makeDatabase({ ...spec, sequences: spec.sequences.toReversed() });
  const { outcome } = await make({ formatType: 'tabular' });
  const reason = `a database was rebuilt since the query job ${QUERY} searched it`;
  t.match(outcome, { kind: 'failed', reason, stderr: `${reason}\n` });
  t.strictSame(store.keys(), []);
});

t.test('a report over its limit is ended by the system, or by us when it is many files', async (t) => {
  for (const [formatType, maxOutputBytes] of [
    ['pairwise', 20_000],
    ['multi-file-blast-xml2', 40_000],
  ] as const) {
    const { make, store } = await setup(t, { maxOutputBytes });
    const { outcome } = await make({ formatType });
    t.match(outcome, {
      kind: 'failed',
      reason: `the report is larger than the ${maxOutputBytes} bytes allowed`,
    });
    t.strictSame(store.keys(), []);
  }
});

t.test('a formatter that hangs, writes to a full device, is killed or is not there', async (t) => {
  const wrapper = async (t: Test, script: string): Promise<string> => {
    const blastBin = t.testdir({});
    await writeFile(join(blastBin, 'blast_formatter'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return blastBin;
  };
  for (const [script, maxDurationMs, reason] of [
    ['echo slow >&2; sleep 1000', 300, 'blast_formatter took longer than the 0.3 s allowed'],
    [
      'ln -s /dev/full report.tsv; exec /usr/bin/blast_formatter "$@"',
      60_000,
      /^blast_formatter (ended with exit code|was killed by)/,
    ],
    ['kill -9 $$', 60_000, 'blast_formatter was killed by SIGKILL'],
  ] as const) {
    const { make, store } = await setup(t, { blastBin: await wrapper(t, script), maxDurationMs });
    const { outcome } = await make({ formatType: 'tabular' });
    t.match(outcome, { kind: 'failed', reason });
    if (outcome.kind === 'failed') t.ok(outcome.stderr.endsWith(`${outcome.reason}\n`));
    t.strictSame(store.keys(), []);
  }
  const { make } = await setup(t, { blastBin: t.testdir({}) });
  t.match((await make({})).outcome, { kind: 'failed', reason: 'blast_formatter is not installed' });
});

t.test('the formatter sees no variable but its own', async (t) => {
  const blastBin = t.testdir({});
  await writeFile(join(blastBin, 'blast_formatter'), '#!/bin/sh\nenv -0 >report.tsv\n', { mode: 0o755 });
  const { make, dir } = await setup(t, { blastBin });
  const { bytesOf } = await make({ formatType: 'tabular' });
  const seen = (await bytesOf('report.tsv')).toString().split('\0').filter(Boolean);
  // The shell's own, the mark of the run, and what tap gives to every child.
  const others = /^(PWD|_|SHLVL|OLDPWD|LONGSHORE_RUN|NODE_OPTIONS|_TAPJS_\w+)$/;
  const names = seen.map((line) => line.split('=')[0] ?? '').filter((name) => !others.test(name));
  t.strictSame(names.toSorted(), ['BLASTDB', 'BLAST_USAGE_REPORT', 'HOME', 'LANG', 'PATH']);
  t.ok(seen.includes(`BLASTDB=${dir}`));
  t.ok(seen.includes('BLAST_USAGE_REPORT=false'));
});
