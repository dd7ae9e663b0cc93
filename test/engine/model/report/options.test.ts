import t from 'tap';
import { BLAST_CONFIG_SCHEMA } from '../../../../engine/model/report/blast-config.ts';
import {
  FORMAT_FIELDS,
  FORMAT_TYPE_NAMES,
  formatNumber,
  formatRow,
  TABLE_FIELDS,
} from '../../../../engine/model/report/format-types.ts';
import { type Cell, cellOf, OPTION_NAMES } from '../../../../engine/model/report/options.ts';

const LETTERS: Readonly<Record<Cell, string>> = { effective: 'E', 'no-op': '.', refused: 'x' };

t.test('each option with each format type has the effect that the formatter was seen to give it', async (t) => {
  const table = OPTION_NAMES.map((option) => [
    option,
    FORMAT_TYPE_NAMES.map((type) => LETTERS[cellOf(option, type)]).join(''),
  ]);
  t.strictSame(Object.fromEntries(table), {
    formatType: 'EEEEEEEEEEEEEEEEEEE',
    formatFields: 'xxxxxxEExxExxxxxxEx',
    showGIs: 'EEEEE..............',
    numDescriptions: 'EEEEExxxxxxxxxxxxxx',
    numAlignments: 'EEEEEEEEEEEEEEEEE..',
    lineLength: 'EEEEExxxxxxxxxxxxxx',
    sortHits: 'EEEEExxxxxxxxxxxxxx',
    sortHSPs: 'Exxxxxxxxxxxxxxxxxx',
    maxTargetSequences: 'EEEEEEEEEEEEEEEEE..',
    parseDefLines: 'EEEEE.EE..E.......E',
  });
});

t.test('the documentation says what each option counts for', async (t) => {
  const described = Object.entries(BLAST_CONFIG_SCHEMA.properties).map(([name, { description }]) => [
    name,
    description,
  ]);
  t.strictSame(Object.keys(BLAST_CONFIG_SCHEMA.properties), OPTION_NAMES);
  t.match(Object.fromEntries(described), {
    formatType: /^What the report is written as$/,
    formatFields: /\. Counts for tabular, tabular-with-comments, csv, sam; refused for other types$/,
    sortHSPs: /\. Counts for pairwise; refused for other types$/,
    parseDefLines: /, tabular, tabular-with-comments, csv, organism-report; without effect on other types$/,
  });
});

t.test('format types are known to the formatter by their places', async (t) => {
  t.strictSame(
    FORMAT_TYPE_NAMES.map((type) => `${formatNumber(type)} ${type} ${formatRow(type).file}`),
    [
      '0 pairwise report.txt',
      '1 query-anchored-with-identities report.txt',
      '2 query-anchored-no-identities report.txt',
      '3 flat-query-anchored-with-identities report.txt',
      '4 flat-query-anchored-no-identities report.txt',
      '5 xml report.xml',
      '6 tabular report.tsv',
      '7 tabular-with-comments report.tsv',
      '8 seqalign-text report.asn1',
      '9 seqalign-binary report.asn1',
      '10 csv report.csv',
      '11 asn1 report.asn1',
      '12 seqalign-json report.json',
      '13 multi-file-blast-json report.json',
      '14 multi-file-blast-xml2 report.xml',
      '15 single-file-blast-json report.json',
      '16 single-file-blast-xml2 report.xml',
      '17 sam report.txt',
      '18 organism-report report.txt',
    ],
  );
});

t.test('there are 53 fields, each once', async (t) => {
  t.equal(new Set(FORMAT_FIELDS).size, 53);
  t.equal(FORMAT_FIELDS.length, 53);
  t.equal(TABLE_FIELDS.length, 51);
});
