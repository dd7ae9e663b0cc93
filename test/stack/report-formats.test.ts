// Reports of real searches through the API of the running program: every format type as others read it, and every
// option that is accepted.

import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { mediaTypeOf } from '../../engine/model/report/command-line.ts';
import { FORMAT_TYPE_NAMES, type FormatType, fieldsOf } from '../../engine/model/report/format-types.ts';
import { cellOf, OPTION_NAMES, type OptionName } from '../../engine/model/report/options.ts';
import type { Molecule } from '../../engine/model/report/query-job.ts';
import { longshore } from '../support/longshore.ts';
import { reportSite } from '../support/report-site.ts';
import { unzip } from '../support/unzip.ts';
import { fasta, makeDatabase, mutated, randomNumbers, randomResidues, search } from './blast.ts';
import { faultsOfReport, type SearchFacts } from './report-formats.ts';

const QUERIES = ['first', 'second', 'without'] as const;
const FORMATTER = 'exec /usr/bin/blast_formatter "$@"';

const site = await reportSite(t, FORMATTER, { retryAfter: '0s' });
const service = await site.start();

/** A database, and a search of three queries in it, the last without hits. */
async function searched(program: SearchFacts['program'], molecule: Molecule): Promise<SearchFacts & { id: string }> {
  const dir = site.databases;
  const random = randomNumbers(21);
  const core = randomResidues(molecule, 400, random);
  const sequences = Array.from({ length: 40 }, (_, i) => ({
    title: `gi|${2000 + i}|${molecule === 'nucleotide' ? 'gb|AB' : 'sp|P'}${10_000 + i}.1| thing ${i}`,
    residues: mutated(core, 0.008 * i, molecule, random),
  }));
  await makeDatabase({ dir, name: molecule, molecule, sequences, parseIds: true });
  const query = join(site.dir, `${molecule}.fa`);
  const residues = [core, core.slice(150), randomResidues(molecule, 60, random)];
  await writeFile(query, fasta(QUERIES.map((title, i) => ({ title, residues: residues[i] ?? '' }))));
  const { code, stdout, stderr } = await longshore([
    ...['query', 'run', '--config', site.config, '--program', program, '--db', molecule, '--query', query],
  ]);
  if (code !== 0) throw new Error(stderr);
  const table = join(site.dir, `${molecule}.tsv`);
  await search(program, { dir, database: molecule, query, out: table }, [], 6);
  const rows = (await readFile(table, 'utf8')).split('\n').filter((line) => line !== '');
  return { id: stdout.trim(), dir, program, queries: QUERIES, rows };
}

const nucleotide = await searched('blastn', 'nucleotide');
const protein = await searched('blastp', 'protein');

for (const facts of [nucleotide, protein])
  t.test(`every format type of ${facts.program}`, async (t) => {
    t.ok(facts.rows.length > 40);
    const types = FORMAT_TYPE_NAMES.filter((type) => type !== 'sam' || facts.program === 'blastn');
    const ids = await Promise.all(types.map((formatType) => site.submit(facts.id, { formatType })));
    for (const [at, type] of types.entries()) {
      const id = ids[at] ?? '';
      t.equal(await site.ended(id), 'complete', type);
      const files = await site.files(id);
      t.strictSame(faultsOfReport(type, files, facts), [], type);
      const { 'report.zip': zip = Buffer.alloc(0), ...others } = Object.fromEntries(files);
      t.strictSame(Object.fromEntries(await unzip(zip)), others, `${type}: report.zip holds the other files`);
      const archive = join(site.dir, 'report.zip');
      await writeFile(archive, zip);
      await t.resolves(promisify(execFile)('unzip', ['-t', archive]), `${type}: unzip finds no fault`);
      for (const name of files.keys()) {
        const { headers } = await site.call('HEAD', `/jobs/${id}/files/${name}`);
        t.equal(headers.get('content-type'), mediaTypeOf(type, name), `${type} ${name}`);
      }
    }
  });

/** One value of each option, as an addition to a configuration of the type. */
const VALUES: Readonly<Record<Exclude<OptionName, 'formatType'>, (type: FormatType) => unknown>> = {
  formatFields: (type) => fieldsOf(type).filter((field) => field !== 'frames' && field !== 'sframe'),
  showGIs: () => true,
  numDescriptions: () => 3,
  numAlignments: () => 3,
  lineLength: () => 40,
  sortHits: () => 'by-query-coverage',
  sortHSPs: () => 'by-hsp-query-start',
  maxTargetSequences: () => 5,
  parseDefLines: () => true,
};

t.test('no configuration that is accepted ends in a failed job', async (t) => {
  const configs = FORMAT_TYPE_NAMES.flatMap((formatType) =>
    OPTION_NAMES.filter((option) => option !== 'formatType')
      .filter((option) => cellOf(option, formatType) !== 'refused')
      .map((option) => ({ formatType, [option]: VALUES[option](formatType) })),
  );
  t.equal(configs.length, 96);
  const ids = await Promise.all(configs.map((config) => site.submit(nucleotide.id, config)));
  t.equal(new Set(ids).size, ids.length, 'each is a report of its own');
  const ends: string[] = [];
  for (const [at, id] of ids.entries())
    if ((await site.ended(id)) !== 'complete') ends.push(`${JSON.stringify(configs[at])}: ${await site.stderr(id)}`);
  t.strictSame(ends, []);
});

t.test('the service ends when it is told to', async (t) => {
  t.equal(await service.stop(), 0);
});
