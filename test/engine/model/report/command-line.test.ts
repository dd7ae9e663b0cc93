import t from 'tap';
import { type BlastConfig, resolveConfig } from '../../../../engine/model/report/blast-config.ts';
import { formatterArguments, mediaTypeOf, outputOf } from '../../../../engine/model/report/command-line.ts';
import { FORMAT_TYPE_NAMES } from '../../../../engine/model/report/format-types.ts';
import { cellOf, OPTION_NAMES } from '../../../../engine/model/report/options.ts';

t.test('an index of several files is written under its stem and renamed', async (t) => {
  const json = outputOf('multi-file-blast-json');
  t.strictSame([json.written, json.file, json.mediaType], ['report', 'report.json', 'application/json']);
  const xml = outputOf('multi-file-blast-xml2');
  t.strictSame([xml.written, xml.file, xml.mediaType], ['report', 'report.xml', 'application/xml']);
  t.strictSame(
    ['report_1.json', 'report_120.json', 'report_0.json', 'report_1.xml', 'report_1.json.x', 'report.json'].map(
      (name) => json.parts?.test(name),
    ),
    [true, true, false, false, false, false],
  );
  t.strictSame(outputOf('single-file-blast-json'), {
    ...{ written: 'report.json', file: 'report.json', parts: undefined, mediaType: 'application/json' },
  });
});

t.test('every file of a job has its media type, and no other name has one', async (t) => {
  t.equal(mediaTypeOf('pairwise', 'report.txt'), 'text/plain; charset=utf-8');
  t.equal(mediaTypeOf('tabular', 'report.tsv'), 'text/tab-separated-values; charset=utf-8');
  t.equal(mediaTypeOf('csv', 'report.csv'), 'text/csv; charset=utf-8');
  t.equal(mediaTypeOf('seqalign-binary', 'report.asn1'), 'application/octet-stream');
  t.equal(mediaTypeOf('asn1', 'report.asn1'), 'text/plain; charset=utf-8');
  t.equal(mediaTypeOf('seqalign-json', 'report.json'), 'text/plain; charset=utf-8', 'several documents are none');
  t.equal(mediaTypeOf('multi-file-blast-xml2', 'report_3.xml'), 'application/xml');
  t.equal(mediaTypeOf('xml', 'report.zip'), 'application/zip');
  t.equal(mediaTypeOf('xml', 'report_1.xml'), undefined);
  t.equal(mediaTypeOf('xml', 'stderr.txt'), undefined);
});

const VALUES = {
  ...{ showGIs: true, numDescriptions: 3, numAlignments: 4, lineLength: 40, sortHits: 'by-total-score' },
  ...{ sortHSPs: 'by-hsp-score', maxTargetSequences: 5, parseDefLines: true },
} as const satisfies BlastConfig;

t.test('an option without effect is not given to the formatter, one with an effect is', async (t) => {
  const VALUED = OPTION_NAMES.filter((name): name is keyof typeof VALUES => name in VALUES);
  for (const formatType of FORMAT_TYPE_NAMES) {
    const argumentsOf = (config: BlastConfig) => formatterArguments(resolveConfig({ formatType, ...config }), 'a');
    const plain = argumentsOf({});
    for (const option of VALUED) {
      const given = argumentsOf({ [option]: VALUES[option] });
      const what = `${formatType} with ${option}`;
      if (cellOf(option, formatType) === 'no-op') t.strictSame(given, plain, what);
      else if (cellOf(option, formatType) === 'effective') t.strictNotSame(given, plain, what);
    }
  }
  t.strictSame(formatterArguments(resolveConfig({ formatType: 'csv', formatFields: ['qseqid', 'evalue'] }), 'a'), [
    ...['-archive', 'a', '-out', 'report.csv', '-outfmt', '10 qseqid evalue'],
  ]);
  t.strictSame(formatterArguments(resolveConfig({ maxTargetSequences: 7, sortHits: 'by-bit-score' }), 'a'), [
    ...['-archive', 'a', '-out', 'report.txt', '-outfmt', '0', '-line_length', '60', '-sorthits', '1'],
    ...['-num_descriptions', '7', '-num_alignments', '7'],
  ]);
});
