// What an import accepts can be installed: every limit at its edge, and any content, into the tables of a real PostgreSQL.

import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { csvLine } from '../../../config/samples/delimited.ts';
import { bytesOf, LIMITS } from '../../../config/samples/sample.ts';
import { type SampleRun, sampleDatabase, sampleRun, type UploadedFile } from './sample-run.ts';

const db = await sampleDatabase(t);
/** As long as an id of a dataset can be; it is in every key. */
const DATASET = 'x'.repeat(32);

/** Text of exactly so many bytes that does not compress, since PostgreSQL compresses keys before it measures them. */
function dense(bytes: number, wide: boolean): string {
  const letters = Array.from({ length: wide ? Math.floor(bytes / 3) : bytes }, () => {
    const number = randomBytes(2).readUInt16LE();
    return wide ? String.fromCodePoint(0x4e00 + (number % 20_000)) : String.fromCodePoint(0x30 + (number % 10));
  }).join('');
  return letters + 'x'.repeat(bytes - bytesOf(letters));
}

interface Imported {
  readonly exit: number;
  readonly said: readonly string[];
}

/** Imports, and if that is accepted installs, which must succeed. */
async function throughTo(t: Test, sample: SampleRun, files: readonly UploadedFile[]): Promise<Imported> {
  const { exit, said } = await sample.import(files);
  if (exit === 0) t.same(await sample.run('install-data', [DATASET, sample.dataDir]), { exit: 0, said: [] });
  else t.equal(exit, 99, said.join());
  return { exit, said };
}

const rnaSeq = (sample: string, gene: string): readonly UploadedFile[] => [
  { name: 'manifest.txt', text: `${sample}\ta.txt\tsense\n` },
  { name: 'a.txt', text: `gene_id\tTPM\n${gene}\t1\n` },
];
const biomOf = (row: string, column: string, value: string, type = 'float'): string =>
  `{"format": "Biological Observation Matrix 1.0.0", "matrix_type": "sparse", "matrix_element_type": "${type}",` +
  `"shape": [1, 1], "data": [[0, 0, ${value}]], "rows": [{"id": ${JSON.stringify(row)}}], ` +
  `"columns": [{"id": ${JSON.stringify(column)}}]}`;

t.test('text of the most bytes is installed, and one byte more is refused at the import with its place', async (t) => {
  for (const wide of [false, true]) {
    const biom = await sampleRun(t, 'biom', db);
    const id = (more = 0): string => dense(LIMITS.biomIdBytes + more, wide);
    t.equal((await throughTo(t, biom, [{ name: 'a.biom', text: biomOf(id(), id(), '1') }])).exit, 0);
    await biom.refuses(
      [{ name: 'a.biom', text: biomOf(id(1), 'S', '1') }],
      [
        /^line 1, column \d+: 'rows\[0\]\.id' is ".{59}\.\.\.; it has 1001 bytes; it must be text of 1 to 1000 bytes in UTF-8/,
      ],
    );
    const rnaseq = await sampleRun(t, 'rnaseq', db);
    const sample = dense(LIMITS.sampleBytes, wide);
    const gene = dense(LIMITS.rnaGeneBytes, wide);
    t.equal((await throughTo(t, rnaseq, rnaSeq(sample, gene))).exit, 0);
    await rnaseq.refuses(rnaSeq('S', `${gene}x`), [
      /^'a\.txt', line 2: gene '.{60}\.\.\.' has 1001 bytes in UTF-8; at most 1000 fit$/,
    ]);
    await rnaseq.refuses(rnaSeq(`${sample}x`, 'G'), [
      /^manifest\.txt, line 1: sample '.{60}\.\.\.' has 1001 bytes in UTF-8; at most 1000 fit$/,
    ]);
    const study = await sampleRun(t, 'isasimple', db);
    const cell = (more = 0): string => dense(LIMITS.cellBytes + more, wide);
    t.equal((await throughTo(t, study, [{ name: 'a.csv', text: `${cell()},b\n${cell()},2\n` }])).exit, 0);
    const TOO_LONG = /^'a\.csv', line \d: cell 1, '.{30}\.\.\.', has more than 1000 bytes in UTF-8$/;
    await study.refuses([{ name: 'a.csv', text: `${cell(1)},b\n1,2\n` }], [TOO_LONG]);
    await study.refuses([{ name: 'a.csv', text: `a,b\n${cell(1)},2\n` }], [TOO_LONG]);
  }
  const list = await sampleRun(t, 'genelist', db);
  const gene = dense(LIMITS.geneIdBytes, false);
  t.equal((await throughTo(t, list, [{ name: 'a.txt', text: gene }])).exit, 0);
  await list.refuses(
    [{ name: 'a.txt', text: `G1\n${gene}1` }],
    [`line 2: '${gene.slice(0, 60)}...' is not a gene id: it has 81 bytes in UTF-8; at most 80 fit`],
  );
});

t.test('the widest row of the longest cells is installed', async (t) => {
  const study = await sampleRun(t, 'isasimple', db);
  const row = (first: string): string =>
    csvLine(Array.from({ length: LIMITS.columns }, (_, i) => `${first}${i}`.padEnd(LIMITS.cellBytes, 'x')));
  t.equal((await throughTo(t, study, [{ name: 'a.csv', text: row('a') + row('b') + row('c') }])).exit, 0);
});

/** What the samples could trip over: quotes, separators, line ends, controls, letters of all lengths, and long ones. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.string({ unit: fc.constantFrom(...'"\',;\t|\\ \r\n\0\ufeff\ufffd\u2028ab1é日😀.-'), maxLength: 10 }),
  fc.integer({ min: 990, max: 1_010 }).chain((bytes) => fc.boolean().map((wide) => dense(bytes, wide))),
  fc.constantFrom('__proto__', 'constructor', 'NaN', '-0', '1e999', '\\N', 'NULL', '{}', "'); drop table x; --"),
);
const quoted = (cells: readonly string[]): string =>
  `${cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')}\n`;
/** The same texts each time: of others too few may be ones that a sample takes. */
const RUNS = { numRuns: 60, seed: 20_260_104 };

t.test('any study table that is imported is installed as it was', async (t) => {
  const study = await sampleRun(t, 'isasimple', db);
  let accepted = 0;
  const tables = fc
    .integer({ min: 2, max: 4 })
    .chain((width) =>
      fc.array(fc.array(anyText, { minLength: width, maxLength: width }), { minLength: 2, maxLength: 4 }),
    );
  await fc.assert(
    fc.asyncProperty(tables, async (rows) => {
      const { exit } = await throughTo(t, study, [{ name: 'a.csv', text: rows.map(quoted).join('') }]);
      if (exit !== 0) return;
      accepted++;
      const [header = [], ...data] = rows.map((cells) => cells.map((cell) => cell.toWellFormed()));
      const found = await db.query<{ cells: Record<string, string> }>(
        'select cells from isasimple where dataset_id = $1 order by row_number',
        [DATASET],
      );
      t.strictSame(
        found.map(({ cells }) => header.map((name) => cells[name])),
        // A mark of the text at the beginning of the file is behind a quote.
        data,
      );
    }),
    RUNS,
  );
  t.ok(accepted > 5, `${accepted} were accepted`);
});

t.test('any gene list that is imported is installed as it was', async (t) => {
  const list = await sampleRun(t, 'genelist', db);
  const words = fc.array(fc.oneof(fc.stringMatching(/^[A-Za-z0-9().:_-]{1,81}$/), anyText), {
    minLength: 1,
    maxLength: 4,
  });
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(words, fc.constantFrom('\n', '\r', ', ', '\t'), async (ids, separator) => {
      const { exit } = await throughTo(t, list, [{ name: 'a.txt', text: ids.join(separator) }]);
      if (exit !== 0) return;
      accepted++;
      const found = await db.query<{ gene_id: string }>('select gene_id from genelist where dataset_id = $1', [
        DATASET,
      ]);
      const kept = ids.flatMap((id) => id.split(/[\s,;]+/)).map((id) => id.replace(/^"(.*)"$/, '$1'));
      for (const { gene_id } of found)
        t.ok(
          kept.some((id) => id === gene_id || id === `\ufeff${gene_id}`),
          gene_id,
        );
    }),
    RUNS,
  );
  t.ok(accepted > 5, `${accepted} were accepted`);
});

t.test('any BIOM matrix that is imported is installed as it was', async (t) => {
  const biom = await sampleRun(t, 'biom', db);
  const numbers = fc.oneof(
    fc.double({ noNaN: true }).map((value) => JSON.stringify(value)),
    fc.integer().map(String),
    fc.constantFrom('5e-324', '-1.7976931348623157e308', '1e309', '-0', '9007199254740993', '1E5', '0.1', 'NaN', '"1"'),
  );
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(anyText, anyText, numbers, fc.constantFrom('int', 'float'), async (row, column, value, type) => {
      const { exit } = await throughTo(t, biom, [{ name: 'a.biom', text: biomOf(row, column, value, type) }]);
      if (exit !== 0) return;
      accepted++;
      t.strictSame(
        await db.query('select row_id, column_id, value from biom where dataset_id = $1', [DATASET]),
        Number(value) === 0 ? [] : [{ row_id: row, column_id: column, value: Number(value) }],
      );
    }),
    RUNS,
  );
  t.ok(accepted > 5, `${accepted} were accepted`);
});

t.test('any expression table that is imported is installed as it was', async (t) => {
  const rnaseq = await sampleRun(t, 'rnaseq', db);
  const numbers = fc.oneof(
    fc.double({ noNaN: true }).map(String),
    fc.constantFrom('5e-324', '1e309', '1e-400', '.5', '5.', '+1', '--1', '', '1,5', '1e', '0x10', '٣'),
  );
  const names = fc.oneof(anyText, fc.string({ minLength: 1, maxLength: 8 }));
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(names, names, numbers, async (sample, gene, value) => {
      const cells = (...texts: readonly string[]): string =>
        `${texts.map((text) => `"${text.replaceAll('"', '""')}"`).join('\t')}\n`;
      const { exit } = await throughTo(t, rnaseq, [
        { name: 'manifest.txt', text: cells(sample, 'a.txt', 'sense') },
        { name: 'a.txt', text: cells('gene_id', 'TPM') + cells(gene, value) },
      ]);
      if (exit !== 0) return;
      accepted++;
      t.strictSame(await db.query('select sample, gene_id, value from rnaseq where dataset_id = $1', [DATASET]), [
        { sample: sample.trim().toWellFormed(), gene_id: gene.trim().toWellFormed(), value: Number(value) },
      ]);
    }),
    RUNS,
  );
  t.ok(accepted > 5, `${accepted} were accepted`);
});
