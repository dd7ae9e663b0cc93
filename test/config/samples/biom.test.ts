import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { biomTable } from '../../fixtures/datasets.ts';
import { sampleDatabase, sampleRun } from './sample-run.ts';

const db = await sampleDatabase(t);
const count = async (dataset: string): Promise<unknown> =>
  (await db.query('select count(*)::int as n, sum(value) as sum from biom where dataset_id = $1', [dataset]))[0];

t.test('the non-zero cells of a dense table are installed', async (t) => {
  const sample = await sampleRun(t, 'biom', db);
  const { exit, output } = await sample.import([
    { name: 'a.biom', text: biomTable({ rows: 781, columns: 10, nonZero: 919, form: 'dense' }) },
  ]);
  t.equal(exit, 0);
  t.same(Object.keys(output).sort(), ['data.tsv', 'metadata.json']);
  t.equal(output['data.tsv']?.split('\n').length, 919 + 1);
  t.ok(output['data.tsv']?.startsWith('seq1\tS1\t1\nseq1\tS2\t2\n'));
  const { rows, columns } = JSON.parse(output['metadata.json'] ?? '');
  t.same([rows.length, columns.length, rows[0]], [781, 10, { id: 'seq1', metadata: { taxonomy: ['Bacteria', 't0'] } }]);
  for (let time = 0; time < 2; time++)
    t.same(await sample.run('install-data', ['dense', sample.dataDir]), { exit: 0, said: [] });
  t.same(await count('dense'), { n: 919, sum: (919 * 920) / 2 });
  t.same(await sample.run('uninstall', ['dense']), { exit: 0, said: [] });
  t.same(await count('dense'), { n: 0, sum: null });
});

t.test('a sparse table says the same as a dense one', async (t) => {
  const sample = await sampleRun(t, 'biom', db);
  const shape = { rows: 30, columns: 7, nonZero: 100 };
  const dense = await sample.import([{ name: 'a.biom', text: biomTable({ ...shape, form: 'dense' }) }]);
  const sparse = await sample.import([{ name: 'a.biom', text: biomTable({ ...shape, form: 'sparse' }) }]);
  t.same(sparse, dense);
});

t.test('a table that contradicts itself is refused with the place', async (t) => {
  const sample = await sampleRun(t, 'biom', db);
  const good = JSON.parse(biomTable({ rows: 2, columns: 2, nonZero: 3, form: 'dense' }));
  const grid = (...data: readonly unknown[]) => ({ data });
  const WHOLE = 'it must be a whole number';
  const ID = 'it must be text of 1 to 1000 bytes in UTF-8 without tabs or line ends';
  const FORMAT = "it must be 'Biological Observation Matrix 1.0.0'";
  const refusals: readonly (readonly [what: string | object, ...said: readonly (string | RegExp)[]])[] = [
    ['[]', 'the file is JSON but no object; expected a BIOM 1.0 file'],
    ['{}', `line 1, column 1: 'format' is missing; ${FORMAT}`],
    ['{\n "format": "x y"}', `line 2, column 12: 'format' is "x y"; ${FORMAT}`],
    [
      { shape: [2] },
      /^line 1, column \d+: 'shape' is \[2\]; it must be the numbers of rows and columns, each at least 1$/,
    ],
    [{ shape: [3, 2] }, "'rows' has 2 entries; 'shape' says 3"],
    [grid([1, 2], [3]), /: 'data\[1\]' is \[3\]; it must be a list of 2 cells, as 'shape' says$/],
    [grid([1, 2], [3, 'x']), new RegExp(`: 'data\\[1\\]\\[1\\]' is "x"; ${WHOLE}$`)],
    [grid([1, 2], [3, 0.5]), new RegExp(`: 'data\\[1\\]\\[1\\]' is 0\\.5; ${WHOLE}$`)],
    [
      { matrix_type: 'sparse', ...grid([0, 0, 1], [0, 2, 1], [0, 0, 2]) },
      /: 'data\[1\]' is \[0,2,1\]; it must be \[row below 2, column below 2, value\]$/,
      /: 'data\[2\]' is \[0,0,2\]; the cell 0, 0 stands twice$/,
    ],
    [{ matrix_type: 'other' }, /: 'matrix_type' is "other"; it must be 'dense' or 'sparse'$/],
    [{ matrix_element_type: 'unicode' }, /: 'matrix_element_type' is "unicode"; it must be 'int' or 'float'$/],
    [{ columns: [{ id: 'S1' }, { id: 'S1' }] }, /: 'columns\[1\]\.id' is "S1"; 'columns\[0\]\.id' is the same$/],
    [
      { rows: [null, { id: 'a\tb' }] },
      new RegExp(`: 'rows\\[0\\]\\.id' is missing; ${ID}$`),
      new RegExp(`: 'rows\\[1\\]\\.id' is "a\\\\tb"; ${ID}$`),
    ],
    [
      '{"id":',
      'the file is not JSON as a BIOM 1.0 file has to be; line 1, column 7: the file ends where a value should be',
    ],
    [
      '# Constructed from biom file\n#OTU ID\tS1\n',
      'the file is a table of text, not JSON; a BIOM 1.0 file is needed: convert it with: biom convert --to-json',
    ],
  ];
  for (const [what, ...said] of refusals)
    await sample.refuses(
      [{ name: 'a.biom', text: typeof what === 'string' ? what : JSON.stringify({ ...good, ...what }) }],
      said,
    );
});

t.test('cells are those that the reference implementation read in the same documents', async (t) => {
  const path = join(import.meta.dirname, '..', '..', 'fixtures', 'biom-tables.json');
  const { tables } = JSON.parse(await readFile(path, 'utf8')) as { readonly tables: readonly RecordedTable[] };
  const sample = await sampleRun(t, 'biom', db);
  for (const [i, { text, encoding, cells }] of tables.entries()) {
    const bytes = Buffer.from(
      encoding === 'utf8' ? text : `\ufeff${text}`,
      encoding === 'utf16le' ? 'utf16le' : 'utf8',
    );
    t.equal((await sample.import([{ name: 'a.biom', text: bytes }])).exit, 0, `table ${i}`);
    await sample.run('install-data', ['recorded', sample.dataDir]);
    const rows = await db.query<{ cell: unknown }>(
      "select json_build_array(row_id, column_id, value) as cell from biom where dataset_id = 'recorded'",
    );
    const sorted = (list: readonly unknown[]): readonly string[] => list.map((cell) => JSON.stringify(cell)).sort();
    t.strictSame(sorted(rows.map(({ cell }) => cell)), sorted(cells), `table ${i}`);
  }
  t.ok(tables.length > 10);
});

/** As `test/stack/biom-tables.py` made it; the stack suite makes others. */
interface RecordedTable {
  readonly text: string;
  readonly encoding: 'utf8' | 'marked' | 'utf16le';
  readonly cells: readonly unknown[];
}
