import t from 'tap';
import { checkCombination, checkProgram } from '../../../../engine/model/report/checks.ts';
import { FORMAT_TYPE_NAMES } from '../../../../engine/model/report/format-types.ts';
import { cellOf, OPTION_NAMES } from '../../../../engine/model/report/options.ts';
import { QUERY_PROGRAMS, type QueryProgram } from '../../../../engine/model/report/query-job.ts';

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
