// Every limit of the samples: what is at the bound is imported, and one more is refused with the value, the bound and its place.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { uniqueIds } from '../../../config/samples/genelist.ts';
import { listFiles } from '../../../config/samples/installed-dataset.ts';
import { checkedLines } from '../../../config/samples/isasimple.ts';
import { checkEntry } from '../../../config/samples/rnaseq.ts';
import { LIMITS, Refusal } from '../../../config/samples/sample.ts';
import type { SampleName } from '../../../config/samples/samples.ts';
import { sampleDatabase, sampleRun, type UploadedFile } from './sample-run.ts';

const db = await sampleDatabase(t);

interface Bound {
  readonly sample: SampleName;
  /** With so many bytes or things: the limit, or one more. */
  readonly files: (count: number) => readonly UploadedFile[];
  readonly says: string | RegExp;
  /** Of what is at the bound and refused for another reason. */
  readonly saysAtBound?: string | RegExp;
}

const text = (name: string, content: string): UploadedFile => ({ name, text: content });
const many = (count: number, one: (i: number) => string): string => {
  const parts: string[] = [];
  for (let i = 0; i < count; i++) parts.push(one(i));
  return parts.join('');
};
const x = (count: number): string => 'x'.repeat(count);
const rnaSeq = (sample: string, table: string) => [
  text('manifest.txt', `${sample}\ta.txt\tsense\n`),
  text('a.txt', table),
];
const biom = (id: string): string =>
  '{"format": "Biological Observation Matrix 1.0.0", "matrix_type": "sparse", "matrix_element_type": "int",' +
  `"shape": [1, 1], "data": [[0, 0, 1]], "rows": [{"id": "${id}"}], "columns": [{"id": "S"}]}`;
const cufflinks = (cell: string): string =>
  `tracking_id\tc\tn\tgene_id\ts\tt\tl\tle\tco\tFPKM\tlo\thi\tst\nx\t${cell}\t-\tg1\t-\t-\t-\t-\t-\t2\t0\t1\tOK\n`;

type Counted = Exclude<keyof typeof LIMITS, 'files' | 'geneIds' | 'genesPerSample' | 'rows'>;

const BOUNDS: Readonly<Record<Counted, Bound>> = {
  geneIdBytes: {
    sample: 'genelist',
    files: (bytes) => [text('a.txt', `G1\n${x(bytes)}`)],
    says: /^line 2: 'x{60}\.\.\.' is not a gene id: it has 81 bytes in UTF-8; at most 80 fit$/,
  },
  wordBytes: {
    sample: 'genelist',
    files: (bytes) => [text('a.txt', `G1\n${x(bytes)}`)],
    says: "line 2: 'xxxxxxxxxxxxxxxxxxxx...' begins a word of more than 8000 bytes; is this a gene list?",
    saysAtBound: /^line 2: 'x{60}\.\.\.' is not a gene id: it has 8000 bytes in UTF-8; at most 80 fit$/,
  },
  cellBytes: {
    sample: 'isasimple',
    files: (bytes) => [text('a.csv', `a,b\n1,${x(bytes)}\n`)],
    says: /^'a\.csv', line 2: cell 2, 'x{30}\.\.\.', has more than 1000 bytes in UTF-8$/,
  },
  columns: {
    sample: 'isasimple',
    files: (count) => [text('a.csv', `${many(count, (i) => `${i > 0 ? ',' : ''}c${i}`)}\n1${','.repeat(count - 1)}\n`)],
    says: "'a.csv', line 1: column 'c999' is number 1000; at most 999 are taken",
  },
  biomFileBytes: {
    sample: 'biom',
    files: (bytes) => [text('a.biom', biom('R').padEnd(bytes))],
    says: "'a.biom' has 33554433 bytes; a BIOM file may have at most 33554432",
  },
  biomIdBytes: {
    sample: 'biom',
    files: (bytes) => [text('a.biom', biom(x(bytes)))],
    says: /^line 1, column \d+: 'rows\[0\]\.id' is "x+\.\.\.; it has 1001 bytes; it must be text of 1 to 1000 bytes in UTF-8/,
  },
  sampleBytes: {
    sample: 'rnaseq',
    files: (bytes) => rnaSeq(x(bytes), 'gene_id\tTPM\ng\t1\n'),
    says: /^manifest\.txt, line 1: sample 'x{60}\.\.\.' has 1001 bytes in UTF-8; at most 1000 fit$/,
  },
  rnaGeneBytes: {
    sample: 'rnaseq',
    files: (bytes) => rnaSeq('S', `gene_id\tTPM\n${x(bytes)}\t1\n`),
    says: /^'a\.txt', line 2: gene 'x{60}\.\.\.' has 1001 bytes in UTF-8; at most 1000 fit$/,
  },
  rnaCellBytes: {
    sample: 'rnaseq',
    files: (bytes) => rnaSeq('S', cufflinks(x(bytes))),
    says: /^'a\.txt', line 2: cell 2, 'x{30}\.\.\.', has more than 10000 bytes in UTF-8$/,
  },
};

for (const [limit, { sample: name, files, says, saysAtBound }] of Object.entries(BOUNDS))
  t.test(`${limit}: the bound is imported, and one more is refused with its place`, async (t) => {
    const bound = LIMITS[limit as Counted];
    const sample = await sampleRun(t, name, db);
    if (saysAtBound) await sample.refuses(files(bound), [saysAtBound]);
    else {
      const { exit, said } = await sample.import(files(bound));
      t.same({ exit, said }, { exit: 0, said: [] });
    }
    await sample.refuses(files(bound + 1), [says]);
  });

/** What {@link LIMITS} has too many of for a test is counted to a smaller bound here. */
async function counts(t: Test, most: number, count: (things: number) => Promise<unknown>, says: RegExp): Promise<void> {
  await count(most);
  const error = await count(most + 1).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  t.ok(error instanceof Refusal);
  t.match(error, { messages: [says] });
}

t.test('geneIds: the bound is imported, and one more is refused with its place', async (t) => {
  const dir = t.testdir();
  const count = async (ids: number): Promise<void> => {
    await writeFile(join(dir, 'a.txt'), `G0\n${many(ids, (i) => `G${i}\n`)}`);
    const notes = { duplicates: 0, widths: new Set<number>(), lines: 0 };
    const found = await Array.fromAsync(uniqueIds(join(dir, 'a.txt'), 'a.txt', undefined, notes, 3));
    t.same([found.length, notes.duplicates], [3, 1]);
  };
  await counts(t, 3, count, /^line 5: gene id 'G3' is number 4; at most 3 are taken$/);
});

t.test('genesPerSample: the bound is imported, and one more is refused with its place', async (t) => {
  const dir = t.testdir();
  const { signal } = new AbortController();
  const entry = { sample: 'S', file: 'a.txt', strand: 'sense', bigWig: undefined };
  const count = async (genes: number): Promise<void> => {
    await writeFile(join(dir, 'a.txt'), `gene_id\tTPM\n${many(genes, (i) => `G${i}\t1\n`)}`);
    await checkEntry(dir, entry, { signal }, 3);
  };
  await counts(t, 3, count, /^'a\.txt', line 5: gene 'G3' is number 4; at most 3 are taken$/);
});

t.test('rows: the bound is imported, and one more is refused with its place', async (t) => {
  async function* rows(count: number) {
    for (let line = 1; line <= count; line++) yield { line, cells: ['a', 'b'].map((cell) => `${cell}${line}`) };
  }
  const count = (dataRows: number) => Array.fromAsync(checkedLines(rows(dataRows + 1), 'a.csv', 3));
  await counts(t, 3, count, /^'a\.csv', line 5: the row is number 4; at most 3 are taken$/);
  t.ok(LIMITS.rows < 2 ** 31, 'row_number is an integer of four bytes');
});

t.test('files: the bound is imported, and one more is refused with its name', async (t) => {
  const dir = t.testdir({ sub: {} });
  const count = async (files: number): Promise<void> => {
    for (let i = 0; i < files; i++) await writeFile(join(dir, i === 0 ? 'a.txt' : `sub/b${i}.txt`), '');
    t.equal(listFiles(dir, 2).length, 2);
  };
  await counts(t, 2, count, /^file '(?:a|sub\/b\d)\.txt' is number 3; at most 2 are taken$/);
});

t.test('the page for users has every limit with its bound', async (t) => {
  const page = await readFile(join(import.meta.dirname, '..', '..', '..', 'docs', 'real-files.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `(\w+)`[^|]*\|[^|]*\| (\d+) \|$/gm)].map(([, limit, bound]) => [
    limit,
    Number(bound),
  ]);
  t.strictSame(Object.fromEntries(rows), { ...LIMITS });
});
