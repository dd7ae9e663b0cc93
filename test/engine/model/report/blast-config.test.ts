import t from 'tap';
import {
  type BlastConfig,
  checkCombination,
  checkProgram,
  type ResolvedConfig,
  resolveConfig,
} from '../../../../engine/model/report/blast-config.ts';
import { formatterArguments } from '../../../../engine/model/report/command-line.ts';
import { FORMAT_TYPE_NAMES, type FormatType, formatNumber } from '../../../../engine/model/report/format-types.ts';
import { cellOf, OPTION_NAMES, OPTIONS } from '../../../../engine/model/report/options.ts';
import { QUERY_PROGRAMS, type QueryProgram } from '../../../../engine/model/report/query-job.ts';

const argumentsOf = (config: BlastConfig): string =>
  formatterArguments(resolveConfig(config), 'query.asn1').join(' ').replace('-archive query.asn1 -out ', '');

t.test('nothing asked is a pairwise report with the numbers that the formatter states', async (t) => {
  const plain: ResolvedConfig = {
    ...{ formatType: 'pairwise', showGIs: false, numDescriptions: 500, numAlignments: 250, lineLength: 60 },
    parseDefLines: false,
  };
  t.strictSame(resolveConfig({}), plain);
  t.strictSame(resolveConfig({ formatType: 'pairwise', formatFields: [], numAlignments: 250 }), plain);
  t.strictSame(formatterArguments(plain, 'query.asn1'), [
    ...['-archive', 'query.asn1', '-out', 'report.txt', '-outfmt', '0'],
    ...['-num_descriptions', '500', '-num_alignments', '250', '-line_length', '60'],
  ]);
});

t.test('one number given leaves the other at its own default', async (t) => {
  t.equal(
    argumentsOf({ numDescriptions: 0 }),
    'report.txt -outfmt 0 -num_descriptions 0 -num_alignments 250 -line_length 60',
  );
  t.equal(
    argumentsOf({ numAlignments: 0 }),
    'report.txt -outfmt 0 -num_descriptions 500 -num_alignments 0 -line_length 60',
  );
});

t.test('in text a limit of sequences is given as both numbers, elsewhere as itself', async (t) => {
  const text = { formatType: 'query-anchored-no-identities', maxTargetSequences: 7 } as const;
  t.strictSame(resolveConfig(text), { ...text, showGIs: false, lineLength: 60, parseDefLines: false });
  t.equal(argumentsOf(text), 'report.txt -outfmt 2 -line_length 60 -num_descriptions 7 -num_alignments 7');
  t.equal(argumentsOf({ formatType: 'xml', maxTargetSequences: 7 }), 'report.xml -outfmt 5 -max_target_seqs 7');
});

t.test('fields are part of one argument, in the order of their first mention', async (t) => {
  const fields = resolveConfig({ formatType: 'csv', formatFields: ['evalue', 'qseqid', 'evalue'] });
  t.strictSame(fields.formatFields, ['evalue', 'qseqid']);
  t.strictSame(formatterArguments(fields, 'a').slice(4), ['-outfmt', '10 evalue qseqid']);
  t.equal(argumentsOf({ formatType: 'tabular' }), 'report.tsv -outfmt 6');
  t.strictSame(resolveConfig({ formatType: 'tabular' }).formatFields, ['std']);
  t.strictSame(resolveConfig({ formatType: 'sam' }).formatFields, undefined);
  t.equal(argumentsOf({ formatType: 'sam', formatFields: ['SQ', 'SR'] }), 'report.txt -outfmt 17 SQ SR');
});

t.test('orders are given by their numbers', async (t) => {
  t.equal(
    argumentsOf({ maxTargetSequences: 7, sortHits: 'by-bit-score' }),
    'report.txt -outfmt 0 -line_length 60 -sorthits 1 -num_descriptions 7 -num_alignments 7',
  );
  t.match(argumentsOf({ sortHits: 'by-evalue', sortHSPs: 'by-hsp-subject-start' }), / -sorthits 0 -sorthsps 4$/);
  t.match(argumentsOf({ sortHits: 'by-query-coverage', sortHSPs: 'by-hsp-evalue' }), / -sorthits 4 -sorthsps 0$/);
});

/** One value for every option, with which no other one is excluded. */
const VALUES = {
  ...{ showGIs: true, numDescriptions: 3, numAlignments: 3, lineLength: 40, sortHits: 'by-total-score' },
  ...{ sortHSPs: 'by-hsp-percent-identity', maxTargetSequences: 5, parseDefLines: true },
} as const satisfies BlastConfig;

t.test('an option without effect is kept, but not given to the formatter', async (t) => {
  const silent = Object.entries(VALUES).flatMap(([name, value]) => {
    const option = OPTION_NAMES.find((known) => known === name) ?? 'formatType';
    return FORMAT_TYPE_NAMES.filter((type) => cellOf(option, type) === 'no-op').map((type) => {
      const config: BlastConfig = { formatType: type, [option]: value };
      t.strictSame(resolveConfig(config)[option], value, `${type} ${option}`);
      t.strictSame(argumentsOf(config), argumentsOf({ formatType: type }), `${type} ${option}`);
      return `${type} ${option}`;
    });
  });
  t.equal(silent.length, 28);
});

t.test('an option with effect is given to the formatter', async (t) => {
  for (const [name, value] of Object.entries(VALUES)) {
    const option = OPTION_NAMES.find((known) => known === name) ?? 'formatType';
    const effective = FORMAT_TYPE_NAMES.filter((type) => cellOf(option, type) === 'effective');
    t.ok(effective.length > 0, name);
    for (const type of effective) {
      const text = formatNumber(type) <= 4;
      const flag = option === 'maxTargetSequences' && text ? '-num_descriptions' : OPTIONS[option].flag;
      const given = argumentsOf({ formatType: type, [option]: value });
      t.ok(given.includes(` ${flag}`) && given !== argumentsOf({ formatType: type }), `${type} ${option}`);
    }
  }
});

t.test('what an answer holds can be asked for again and is the same', async (t) => {
  const asked = (type: FormatType): readonly BlastConfig[] => [
    { formatType: type },
    ...Object.entries(VALUES).map(([name, value]) => ({ formatType: type, [name]: value })),
  ];
  for (const config of FORMAT_TYPE_NAMES.flatMap(asked)) {
    const resolved = resolveConfig(config);
    t.strictSame(resolveConfig(resolved), resolved);
  }
});

/** Paths and sentences. */
function faultsOf(config: Readonly<Record<string, unknown>>): readonly string[] {
  const faults: string[] = [];
  checkCombination(config, { add: (path, sentence) => faults.push(`${path.join('.')} ${sentence}`) });
  return faults;
}
const keysOf = (config: Readonly<Record<string, unknown>>): readonly string[] =>
  faultsOf(config).map((fault) => fault.split(' ', 1).join());

t.test('a refused option is a fault of the option and of the format type', async (t) => {
  const value = { formatFields: ['qseqid'], sortHits: 'by-evalue', sortHSPs: 'by-hsp-score' } as const;
  for (const type of FORMAT_TYPE_NAMES)
    for (const option of OPTION_NAMES.filter((name) => name !== 'formatType')) {
      const sam = type === 'sam' && option === 'formatFields';
      const config = {
        formatType: type,
        [option]: 5,
        ...(option in value ? { [option]: value[option as 'sortHits'] } : {}),
      };
      const refused = cellOf(option, type) === 'refused';
      const expected = refused
        ? [`blastConfig.${option}`, 'blastConfig.formatType']
        : sam
          ? ['blastConfig.formatFields.0']
          : [];
      t.strictSame(keysOf(config), expected, `${type} ${option}`);
    }
  t.strictSame(faultsOf({ formatType: 'xml', lineLength: 60 }), [
    "blastConfig.lineLength is not for the format type 'xml'; it is for pairwise, query-anchored-with-identities, " +
      'query-anchored-no-identities, flat-query-anchored-with-identities, flat-query-anchored-no-identities',
    "blastConfig.formatType is 'xml', which 'lineLength' is not for",
  ]);
});

t.test('without a format type the options are those of pairwise', async (t) => {
  t.strictSame(keysOf({ formatFields: ['qseqid'] }), ['blastConfig.formatFields', 'blastConfig.formatType']);
  t.strictSame(keysOf({ sortHSPs: 'by-hsp-score', formatFields: [] }), []);
});

t.test('a limit of sequences excludes both numbers, whatever the type', async (t) => {
  t.strictSame(faultsOf({ maxTargetSequences: 5, numDescriptions: 500, numAlignments: 250 }), [
    "blastConfig.maxTargetSequences excludes 'numDescriptions'; only one of them may be given",
    "blastConfig.numDescriptions excludes 'maxTargetSequences'; only one of them may be given",
    "blastConfig.maxTargetSequences excludes 'numAlignments'; only one of them may be given",
    "blastConfig.numAlignments excludes 'maxTargetSequences'; only one of them may be given",
  ]);
  t.strictSame(keysOf({ formatType: 'sam', maxTargetSequences: 5, numAlignments: 5 }).length, 2);
});

t.test('fields are those of the type', async (t) => {
  t.strictSame(faultsOf({ formatType: 'tabular', formatFields: ['qseqid', 'SQ'] }), [
    "blastConfig.formatFields.1 is 'SQ', which the format type 'tabular' has not",
  ]);
  t.strictSame(faultsOf({ formatType: 'sam', formatFields: ['SQ', 'std'] }), [
    "blastConfig.formatFields.1 is 'std', which the format type 'sam' has not",
  ]);
});

t.test('frames need a field that has the alignment read', async (t) => {
  const needed =
    'for which one of qstart, qend, sstart, send, length, pident, nident, mismatch, positive, gapopen, gaps, qseq, ' +
    'sseq, btop, ppos, sstrand, qframe, std is needed too';
  t.strictSame(faultsOf({ formatType: 'csv', formatFields: ['qseqid', 'frames', 'evalue', 'sframe'] }), [
    `blastConfig.formatFields holds 'frames' and 'sframe', ${needed}`,
  ]);
  t.strictSame(faultsOf({ formatType: 'tabular', formatFields: ['sframe'] }), [
    `blastConfig.formatFields holds 'sframe', ${needed}`,
  ]);
  t.strictSame(faultsOf({ formatType: 'tabular', formatFields: ['frames', 'qstart'] }), []);
});

t.test('values that are not allowed by themselves do not hide the other faults', async (t) => {
  t.strictSame(
    keysOf({ formatType: 'morse', lineLength: 3, formatFields: 7, maxTargetSequences: 'x', numAlignments: 1 }),
    ['blastConfig.maxTargetSequences', 'blastConfig.numAlignments'],
  );
  t.strictSame(keysOf({ formatType: 'tabular', formatFields: [1, 'nothing', 'SR'] }), ['blastConfig.formatFields.2']);
});

t.test('only results of blastn are written as sam', async (t) => {
  const programs = Object.keys(QUERY_PROGRAMS) as QueryProgram[];
  const refused = programs.filter((program) => {
    const faults: unknown[] = [];
    checkProgram('sam', program, { add: (...fault) => faults.push(fault) });
    checkProgram('pairwise', program, { add: () => t.fail('every program has a pairwise report') });
    return faults.length > 0;
  });
  t.strictSame(refused, ['blastp', 'blastx', 'tblastn', 'tblastx']);
});
