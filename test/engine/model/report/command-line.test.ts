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
