// What can go wrong with reports of real searches, through the API of the running program: databases that change, limits
// that the formatter does not keep, and a formatter that ends as it should not.

import { execFileSync } from 'node:child_process';
import { mkdir, open, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Molecule, QueryProgram } from '../../engine/model/report/query-job.ts';
import { reportSite } from '../support/report-site.ts';
import { run } from '../support/run-command.ts';
import { fasta, makeDatabase, mutated, randomNumbers, randomResidues } from './blast.ts';

const MAX_MS = 8_000;
const MAX_BYTES = 4 * 1024 * 1024;
const HITS = 600;
const TABULAR = { formatType: 'tabular' };

const site = await reportSite(t, 'exec /usr/bin/blast_formatter "$@"', {
  ...{ retryAfter: '0s', maxDuration: `${MAX_MS}ms`, maxOutputSize: MAX_BYTES },
});
let service = await site.start();
const random = randomNumbers(5);

interface Searched {
  readonly id: string;
  readonly rebuild: () => Promise<unknown>;
}

/** A query job of sequences that are like the first query, which is searched for with others. */
async function searched(
  name: string,
  program: QueryProgram,
  { hits, residues }: { readonly hits: number; readonly residues: readonly string[] },
): Promise<Searched> {
  const molecule: Molecule = program === 'blastp' ? 'protein' : 'nucleotide';
  const sequences = Array.from({ length: hits }, (_, i) => ({
    title: `s${i}`,
    residues: mutated(residues[0] ?? '', 0.01, molecule, random),
  }));
  const spec = { dir: site.databases, name, molecule };
  await makeDatabase({ ...spec, sequences });
  const file = join(site.dir, `${name}.fa`);
  await writeFile(file, fasta(residues.map((one, i) => ({ title: `q${i}`, residues: one }))));
  const args = ['--config', site.config, '--program', program, '--db', name, '--query', file];
  const { out } = await run('query', ['run', ...args, '--max-target-seqs', String(hits)], { PATH: process.env.PATH });
  return { id: out.trim(), rebuild: () => makeDatabase({ ...spec, sequences: sequences.toReversed() }) };
}

const core = randomResidues('nucleotide', 120, random);
const many = await searched('many', 'blastn', { hits: HITS, residues: [core] });

/** The only file of a report that is complete. */
async function textOf(t: Test, id: string, config: object): Promise<string> {
  const job = await site.submit(id, config);
  t.equal(await site.ended(job), 'complete', await site.stderr(job));
  return [...(await site.files(job)).values()][0]?.toString() ?? '';
}

/** The keys of the faults that a request is refused for. */
async function refused(id: string, blastConfig: object): Promise<readonly string[]> {
  const { status, body } = await site.call('POST', '/jobs', { queryJobID: id, blastConfig });
  if (status !== 422) throw new Error(`${JSON.stringify(blastConfig)}: ${status}`);
  return Object.keys((body as { errors: { byKey: object } }).errors.byKey).sort();
}

t.test(
  'limits count although there are more than 500 hits, and numbers that are not given are 500 and 250',
  async (t) => {
    const [described, aligned] = [/^s\d+ /gm, /^>s\d+/gm];
    const count = (text: string, row: RegExp): number => [...text.matchAll(row)].length;
    const counts = async (config: object): Promise<readonly number[]> => {
      const text = await textOf(t, many.id, config);
      return [count(text, described), count(text, aligned)];
    };
    t.strictSame(await counts({}), [500, 250]);
    t.strictSame(await counts({ numDescriptions: 20 }), [20, 250]);
    t.strictSame(await counts({ numAlignments: 20 }), [500, 20]);
    t.strictSame(await counts({ maxTargetSequences: 10 }), [10, 10]);
    const rows = async (config: object): Promise<number> =>
      count(await textOf(t, many.id, { ...TABULAR, ...config }), /\n/g);
    t.strictSame([await rows({}), await rows({ maxTargetSequences: 10 })], [HITS, 10]);
  },
);

t.test('a query without hits is a complete report of no bytes', async (t) => {
  const none = await searched('none', 'blastn', { hits: 3, residues: [core] });
  const file = join(site.dir, 'other.fa');
  await writeFile(file, fasta([{ title: 'q', residues: randomResidues('nucleotide', 60, random) }]));
  const args = ['--config', site.config, '--program', 'blastn', '--db', 'none', '--query', file];
  const { out } = await run('query', ['run', ...args], { PATH: process.env.PATH });
  t.not(out.trim(), none.id);
  for (const formatType of ['tabular', 'csv', 'sam']) {
    const id = await site.submit(out.trim(), { formatType });
    t.equal(await site.ended(id), 'complete', formatType);
    const [[name, bytes] = []] = await site.files(id);
    t.equal(bytes?.length, 0, formatType);
    t.equal((await site.call('GET', `/jobs/${id}/files/${name}`)).headers.get('content-length'), '0');
  }
});

t.test('what the formatter would do wrong is refused before', async (t) => {
  const protein = await searched('protein', 'blastp', { hits: 5, residues: [randomResidues('protein', 90, random)] });
  t.strictSame(await refused(protein.id, { formatType: 'sam' }), ['blastConfig.formatType']);
  for (const field of ['frames', 'sframe'])
    t.strictSame(await refused(many.id, { ...TABULAR, formatFields: ['qseqid', field] }), ['blastConfig.formatFields']);
  const paired = await textOf(t, many.id, { ...TABULAR, formatFields: ['frames', 'sframe', 'qframe'] });
  t.strictSame([...new Set(paired.split('\n'))].filter(Boolean), ['1/1\t1\t1']);
  t.strictSame(await refused(many.id, { maxTargetSequences: 10, numAlignments: 10 }), [
    'blastConfig.maxTargetSequences',
    'blastConfig.numAlignments',
  ]);
});

t.test('a database that was made anew in another order fails the job with that reason', async (t) => {
  const { id, rebuild } = await searched('rebuilt', 'blastn', { hits: 20, residues: [core] });
  await rebuild();
  const job = await site.submit(id, TABULAR);
  t.equal(await site.ended(job), 'failed');
  t.equal(await site.stderr(job), `a database was rebuilt since the query job ${id} searched it\n`);
});

t.test('a formatter that ends as it should not fails the job, leaves nothing, and may try again', async (t) => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['kill -9 $$', /^blast_formatter was killed by SIGKILL$/],
    ['ln -s /dev/full report.tsv', /^blast_formatter (ended with exit code \d+|was killed by \w+)$/],
    ['exec head -c 5000000 /dev/zero >report.tsv', /^the report is larger than the 4194304 bytes allowed$/],
    ['for i in 1 2 3; do head -c 2000000 /dev/zero >file$i; done; sleep 60', /^the report is larger than the 4194304 /],
    ['echo slow >&2; sleep 60', /^blast_formatter took longer than the 8 s allowed$/],
  ];
  // Another report for each, all of them at once but for what the formatter is told to do first.
  for (const [at, [script, reason]] of cases.entries()) {
    const config = { ...TABULAR, maxTargetSequences: 20 + at };
    await site.before(script);
    const id = await site.submit(many.id, config);
    t.equal(await site.ended(id), 'failed', script);
    const lines = (await site.stderr(id)).trimEnd().split('\n');
    t.match(lines.at(-1), reason, script);
    t.equal((await site.call('GET', `/jobs/${id}/files`)).status, 403);
    t.strictSame(await objectsOf(id), [], 'nothing is published');
    await site.before('');
    t.equal(await site.submit(many.id, config), id, 'the same request runs it again');
    t.equal(await site.ended(id), 'complete', script);
    t.equal([...(await site.files(id)).values()][0]?.toString().split('\n').length, 21 + at);
  }
});

t.test('fifty identical requests at once are one run, and a kill -9 during it is no end of it', async (t) => {
  const [began, go] = [join(site.dir, 'began'), join(site.dir, 'go')];
  execFileSync('mkfifo', [began, go]);
  await site.before(`if mkdir '${site.dir}/first' 2>/dev/null; then echo >'${began}'; read line <'${go}'; fi`);
  const before = await site.runs();
  const config = { formatType: 'multi-file-blast-json' };
  const ids = await Promise.all(Array.from({ length: 50 }, () => site.submit(many.id, config)));
  t.equal(new Set(ids).size, 1);
  await (await open(began)).close();
  await service.crash();
  service = await site.start();
  const id = ids[0] ?? '';
  t.equal(await site.ended(id), 'complete');
  t.equal((await site.runs()) - before, 2, 'once before and once after');
  t.strictSame([...(await site.files(id)).keys()], ['report.json', 'report_1.json', 'report.zip']);
  t.equal((await objectsOf(id)).length, 3);
  t.equal(await service.stop(), 0);
});

/** Below all attempts. */
async function objectsOf(id: string): Promise<readonly string[]> {
  const root = join(site.dir, 'store', 'objects', 'reports', id);
  await mkdir(root, { recursive: true });
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}
