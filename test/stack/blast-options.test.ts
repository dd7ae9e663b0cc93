// Every option with every format type, on the real formatter: what the table says of them is what happens.

import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import {
  type BlastConfig,
  checkCombination,
  checkProgram,
  resolveConfig,
} from '../../engine/model/report/blast-config.ts';
import { formatterArguments, mediaTypeOf, outputOf } from '../../engine/model/report/command-line.ts';
import {
  FORMAT_FIELDS,
  FORMAT_TYPE_NAMES,
  type FormatField,
  type FormatType,
  fieldsOf,
} from '../../engine/model/report/format-types.ts';
import {
  cellOf,
  OPTION_NAMES,
  OPTIONS,
  type OptionName,
  SORT_HITS,
  SORT_HSPS,
} from '../../engine/model/report/options.ts';
import type { Molecule, QueryProgram } from '../../engine/model/report/query-job.ts';
import {
  blast,
  blastDirectory,
  fasta,
  makeDatabase,
  mutated,
  randomNumbers,
  randomResidues,
  type Sequence,
  search,
} from './blast.ts';

// Each runs the formatter again and again, one after the other.
t.jobs = 4;

/** Hits in several pieces, so that their order can differ; with GI numbers, so that they can be shown. */
function subjects(molecule: Molecule, core: string, count: number, random: () => number): readonly Sequence[] {
  const [source, letter] = molecule === 'nucleotide' ? ['gb', 'AB'] : ['sp', 'P'];
  return Array.from({ length: count }, (_, i) => {
    const gap = randomResidues(molecule, 300, random);
    const pieces = [core.slice(0, 560 - i * 5), core.slice(100, 400), core.slice(-200)];
    const rates = [0.02 + i * 0.004, 0.05 + i * 0.002, Math.max(0, 0.1 - i * 0.0025)];
    const parts = pieces.map((piece, p) => mutated(piece, rates[p] ?? 0, molecule, random));
    return { title: `gi|${1000 + i}|${source}|${letter}${10_000 + i}.1| thing ${i}`, residues: parts.join(gap) };
  });
}

/** Two queries with hits and one without, in an archive of that program. */
async function archiveOf(t: Test, program: QueryProgram): Promise<{ readonly dir: string; readonly archive: string }> {
  const dir = await blastDirectory(t);
  const molecule: Molecule = program === 'blastp' ? 'protein' : 'nucleotide';
  const random = randomNumbers(7);
  const core = randomResidues(molecule, 600, random);
  const sequences = subjects(molecule, core, 40, random);
  await makeDatabase({ dir, name: 'db', molecule, sequences, parseIds: true });
  const queries = [
    { title: 'query1 the first', residues: core },
    { title: 'query2 the second', residues: core.slice(300) + core.slice(0, 200) },
    { title: 'query3 without hits', residues: randomResidues(molecule, 60, random) },
  ];
  await writeFile(join(dir, 'queries'), fasta(queries));
  const archive = join(dir, 'query.asn1');
  await search(program, { dir, database: 'db', query: join(dir, 'queries'), out: archive });
  return { dir, archive };
}

/** File names and contents; the command that sam holds aside. */
type Files = Readonly<Record<string, string>>;

async function format(dir: string, archive: string, type: FormatType, args: readonly string[]): Promise<Files> {
  const work = await mkdtemp(join(dir, 'run-'));
  const { written, file } = outputOf(type);
  await blast('blast_formatter', ['-archive', archive, '-out', join(work, written), ...args.slice(4)], dir);
  if (written !== file) await rename(join(work, written), join(work, file));
  const files: Record<string, string> = {};
  for (const name of (await readdir(work)).sort())
    files[name] = (await readFile(join(work, name), 'latin1')).replace(/^@PG.*\n/m, '');
  await rm(work, { recursive: true });
  return files;
}

/** One value for each option that other ones do not exclude. */
const VALUES = {
  ...{ showGIs: true, numDescriptions: 3, numAlignments: 3, lineLength: 40, sortHits: 'by-total-score' },
  ...{ sortHSPs: 'by-hsp-percent-identity', maxTargetSequences: 5, parseDefLines: true },
} as const satisfies BlastConfig;
const VALUED = OPTION_NAMES.filter((name): name is keyof typeof VALUES => name in VALUES);

function isAccepted(config: BlastConfig, program: QueryProgram): boolean {
  let sound = true;
  const faults = {
    add: () => {
      sound = false;
    },
  };
  checkCombination({ ...config }, faults);
  checkProgram(config.formatType ?? 'pairwise', program, faults);
  return sound;
}

/** The flag as it would be given if the option had an effect. */
const forced = (option: OptionName): readonly string[] =>
  option === 'showGIs' || option === 'parseDefLines' ? [OPTIONS[option].flag] : [OPTIONS[option].flag, '5'];

for (const program of ['blastn', 'blastp'] as const) {
  t.test(`options on a result of ${program}`, async (t) => {
    const { dir, archive } = await archiveOf(t, program);
    for (const formatType of FORMAT_TYPE_NAMES.filter((type) => isAccepted({ formatType: type }, program))) {
      const run = (config: BlastConfig, more: readonly string[] = []) =>
        format(dir, archive, formatType, [
          ...formatterArguments(resolveConfig({ formatType, ...config }), archive),
          ...more,
        ]);
      const plain = await run({});
      const { parts, file } = outputOf(formatType);
      t.strictSame(
        Object.keys(plain).filter((name) => mediaTypeOf(formatType, name) === undefined),
        [],
        `${formatType}: every file has a media type`,
      );
      t.equal(Object.keys(plain).length, parts ? 4 : 1, `${formatType}: one file, or one for each query and the index`);
      const named = [...(plain[file]?.matchAll(/(?:"File": "|include href=")([^"]+)/g) ?? [])].map(([, name]) => name);
      t.strictSame(named, parts ? Object.keys(plain).filter((name) => name !== file) : [], `${formatType}: its index`);
      for (const option of VALUED) {
        const what = `${formatType} with ${option}`;
        const config = { [option]: VALUES[option] };
        switch (cellOf(option, formatType)) {
          case 'refused':
            t.notOk(isAccepted({ formatType, ...config }, program), what);
            break;
          case 'no-op':
            t.strictSame(await run(config), plain, what);
            t.strictSame(await run({}, forced(option)), plain, `${what}, given to the formatter`);
            break;
          case 'effective':
            t.strictNotSame(await run(config), plain, what);
            break;
        }
      }
    }
  });
}

t.test('orders, extreme numbers and fields are all taken', async (t) => {
  const { dir, archive } = await archiveOf(t, 'blastn');
  const run = (config: BlastConfig) =>
    format(dir, archive, config.formatType ?? 'pairwise', formatterArguments(resolveConfig(config), archive));
  const orders = [
    ...SORT_HITS.map((sortHits) => ({ sortHits })),
    ...SORT_HSPS.map((sortHSPs) => ({ sortHSPs })),
    ...[{ numDescriptions: 0, numAlignments: 0 }, { lineLength: 2_147_483_647 }, { maxTargetSequences: 2_147_483_647 }],
  ];
  for (const config of orders) t.ok((await run(config))['report.txt'], JSON.stringify(config));
  t.strictSame(await run({ formatType: 'tabular', numAlignments: 0 }), { 'report.tsv': '' });
  for (const field of fieldsOf('csv')) {
    const alone: BlastConfig = { formatType: 'csv', formatFields: [field] };
    if (isAccepted(alone, 'blastn')) t.ok((await run(alone))['report.csv'], field);
    else t.ok(['frames', 'sframe'].includes(field), field);
  }
  const all: readonly FormatField[] = FORMAT_FIELDS.filter((field) => fieldsOf('csv').includes(field));
  t.ok((await run({ formatType: 'csv', formatFields: [...all, ...all] }))['report.csv']);
  t.strictSame(
    await run({ formatType: 'csv', formatFields: ['evalue', 'qseqid', 'evalue'] }),
    await run({ formatType: 'csv', formatFields: ['evalue', 'qseqid'] }),
    'a repeated field is printed once',
  );
});

t.test('a limit counts however many hits the archive holds', async (t) => {
  const dir = await blastDirectory(t);
  const random = randomNumbers(3);
  const core = randomResidues('nucleotide', 120, random);
  const sequences = Array.from({ length: 600 }, (_, i) => ({
    title: `s${i}`,
    residues: mutated(core, 0.01, 'nucleotide', random),
  }));
  await makeDatabase({ dir, name: 'db', molecule: 'nucleotide', sequences });
  await writeFile(join(dir, 'query'), fasta([{ title: 'q', residues: core }]));
  const archive = join(dir, 'a');
  await search('blastn', { dir, database: 'db', query: join(dir, 'query'), out: archive }, ['-max_target_seqs', '600']);
  const count = async (config: BlastConfig, row: RegExp): Promise<number> => {
    const type = config.formatType ?? 'pairwise';
    const files = await format(dir, archive, type, formatterArguments(resolveConfig(config), archive));
    return [...(files[outputOf(type).file]?.matchAll(row) ?? [])].length;
  };
  const [described, aligned] = [/^s\d+ /gm, /^>s\d+/gm];
  t.strictSame([await count({}, described), await count({}, aligned)], [500, 250], 'as stated when nothing is asked');
  const ten = { maxTargetSequences: 10 };
  t.strictSame([await count(ten, described), await count(ten, aligned)], [10, 10]);
  t.equal(await count({ formatType: 'tabular', ...ten }, /\n/g), 10);
  t.equal(await count({ formatType: 'tabular' }, /\n/g), 600);
});
