import t from 'tap';
import { mediaTypeOf, outputOf } from '../../../../engine/model/report/command-line.ts';

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
  for (const [type, file, mediaType] of [
    ['pairwise', 'report.txt', 'text/plain; charset=utf-8'],
    ['tabular', 'report.tsv', 'text/tab-separated-values; charset=utf-8'],
    ['csv', 'report.csv', 'text/csv; charset=utf-8'],
    ['seqalign-binary', 'report.asn1', 'application/octet-stream'],
    ['asn1', 'report.asn1', 'text/plain; charset=utf-8'],
    // Several documents are none.
    ['seqalign-json', 'report.json', 'text/plain; charset=utf-8'],
    ['multi-file-blast-xml2', 'report_3.xml', 'application/xml'],
    ['xml', 'report.zip', 'application/zip'],
    ['xml', 'report_1.xml', undefined],
    ['xml', 'stderr.txt', undefined],
  ] as const)
    t.equal(mediaTypeOf(type, file), mediaType, `${type} ${file}`);
});
