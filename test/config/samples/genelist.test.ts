import t from 'tap';
import { geneList } from '../../fixtures/datasets.ts';
import { sampleDatabase, sampleRun } from './sample-run.ts';

const db = await sampleDatabase(t);
const genes = async (dataset: string): Promise<string[]> =>
  (
    await db.query<{ gene_id: string }>('select gene_id from genelist where dataset_id = $1 order by gene_id', [
      dataset,
    ])
  ).map((row) => row.gene_id);

t.test('a list becomes one id per line, each once, in its order', async (t) => {
  const sample = await sampleRun(t, 'genelist', db);
  t.same(
    await sample.import([
      { name: 'genes.txt', text: '\ufeffPF3D7_2, PF3D7_1;PF3D7_2\r\n\n\tTGME49_(x).1:y-z  PF3D7_1' },
    ]),
    {
      exit: 0,
      said: ['2 repeated gene ids were dropped'],
      output: { 'formatted_gene_list.txt': 'PF3D7_2\nPF3D7_1\nTGME49_(x).1:y-z\n' },
    },
  );
});

t.test('a long list is installed, the same after a second time, and gone after uninstall', async (t) => {
  const sample = await sampleRun(t, 'genelist', db);
  const text = geneList(5_720);
  t.equal((await sample.import([{ name: 'genes.txt', text }])).exit, 0);
  for (let time = 0; time < 2; time++) {
    t.same(await sample.run('install-data', ['long', sample.dataDir]), { exit: 0, said: [] });
    t.equal((await genes('long')).length, 5_720);
  }
  t.same(Object.keys(await sample.installed()).sort(), ['formatted_gene_list.txt', 'vdi-meta.json']);
  t.equal((await sample.installed())['formatted_gene_list.txt'], text);
  t.same(await sample.run('install-meta', ['long', sample.metaFile, sample.propertiesDir]), { exit: 0, said: [] });
  t.same(await db.query("select * from dataset_meta where dataset_id = 'long'"), [
    {
      dataset_id: 'long',
      type_name: 'genelist',
      type_version: '1.0',
      name: 'A dataset',
      visibility: 'private',
      properties: [],
    },
  ]);
  t.same(await sample.run('uninstall', ['long']), { exit: 0, said: [] });
  t.same(await genes('long'), []);
  t.same(await db.query("select * from dataset_meta where dataset_id = 'long'"), []);
  t.same(await sample.run('uninstall', ['long']), { exit: 0, said: [] });
});

t.test('installs at the same time do not disturb each other', async (t) => {
  await db.query('drop table if exists genelist');
  const samples = await Promise.all(['a', 'b', 'c'].map(() => sampleRun(t, 'genelist', db)));
  await Promise.all(samples.map((sample, i) => sample.import([{ name: 'x.txt', text: geneList(10 + i) }])));
  const exits = await Promise.all(
    samples.map((sample, i) => sample.run('install-data', [`together-${i}`, sample.dataDir])),
  );
  t.same(exits, Array(3).fill({ exit: 0, said: [] }));
  t.same(await Promise.all([0, 1, 2].map(async (i) => (await genes(`together-${i}`)).length)), [10, 11, 12]);
});

t.test('a list that is none is refused with the reason', async (t) => {
  const sample = await sampleRun(t, 'genelist', db);
  const file = (text: string, name = 'a.txt') => ({ name, text });
  const ID = 'is not a gene id: 1 to 80 of the characters A-Z a-z 0-9 ( ) . : _ -';
  await sample.refuses([file('PF3D7_1\nbad$id\nGröße\n')], [`line 2: 'bad$id' ${ID}`, `line 3: 'Größe' ${ID}`]);
  await sample.refuses([file(' \n;,\n')], ["'a.txt' holds no gene id"]);
  await sample.refuses([], ['the upload must be one gene list file; found none']);
  await sample.refuses(
    [file('x'), file('y', 'sub/b.txt')],
    ["the upload must be one gene list file; found 2: 'a.txt', 'sub/b.txt'"],
  );
  await sample.refuses(
    [file('PF3D7\0', 'a.bin')],
    ["'a.bin' is not a text file: line 1, column 6 has a NUL character"],
  );
  await sample.refuses(
    [file('x'.repeat(200_000))],
    ["line 1: 'xxxxxxxxxxxxxxxxxxxx...' begins a word of more than 8000 bytes; is this a gene list?"],
  );
  await sample.refuses(
    [file('$ '.repeat(50))],
    [...Array(20).fill(/^line 1: '\$' is not a gene id/), 'and 30 more faults of this kind'],
  );
});

t.test('every dependency fits a gene list', async (t) => {
  const sample = await sampleRun(t, 'genelist', db);
  t.same(await sample.run('check-compatibility', [], 'PlasmoDB-51_Pf3D7_Genome\t51\nother\t1\n'), {
    exit: 0,
    said: [],
  });
  t.same(await sample.run('check-compatibility', [], 'no version\n'), {
    exit: 99,
    said: ["dependency 'no version' must be an identifier, a tab and a version"],
  });
});

const LIST = 'formatted_gene_list.txt';

t.test('a header line is named and not installed', async (t) => {
  const sample = await sampleRun(t, 'genelist', db);
  const headers = [
    ...['gene_id', 'Gene ID', 'GENE IDS', 'gene', 'Genes', 'id', 'ID', 'geneId', 'Gene Name', 'symbol', 'Gene symbol'],
    ...['locus_tag', 'Locus', 'Accession', 'Source ID', 'identifier', 'Entrez ID', 'ensembl_gene_id', 'Gene ID(s)'],
    ...['"gene_id"', 'Input ID', 'Gene.ID', 'UniProt ID'],
  ];
  for (const header of headers)
    for (const end of ['\n', '\r\n', '\r']) {
      const { exit, said, output } = await sample.import([
        { name: 'a.txt', text: `${end}${header}${end}G1${end}G2${end}` },
      ]);
      t.same(
        { exit, said, output },
        {
          exit: 0,
          said: [`line 2: '${header.replaceAll('"', '')}' is a header and was left out`],
          output: { [LIST]: 'G1\nG2\n' },
        },
        header,
      );
    }
});

t.test('a gene on the first line is no header', async (t) => {
  const sample = await sampleRun(t, 'genelist', db);
  for (const gene of ['PF3D7_0100100', 'IDS', 'ids', 'ID1', 'gene1', 'AT1G01010', 'Symbol1', 'GENE-1', 'BRCA1'])
    t.same(await sample.import([{ name: 'a.txt', text: `${gene}\nG2\n` }]), {
      exit: 0,
      said: [],
      output: { [LIST]: `${gene}\nG2\n` },
    });
});

t.test('a table, or a header with ids behind it, is refused', async (t) => {
  const sample = await sampleRun(t, 'genelist', db);
  const TABLE = 'columns; upload the column of gene ids alone';
  for (const [text, said] of [
    ['Gene ID\tProduct\nG1\tkinase\n', `'a.txt', line 1: 'Gene ID\\tProduct' is the header of a table with 2 ${TABLE}`],
    [
      'Product,Gene ID,n\nkinase,G1,2\n',
      `'a.txt', line 1: 'Product,Gene ID,n' is the header of a table with 3 ${TABLE}`,
    ],
    ['"gene_id";"TPM"\r\nG1;1\r\n', `'a.txt', line 1: '"gene_id";"TPM"' is the header of a table with 2 ${TABLE}`],
    [
      'gene_id G1 G2\n',
      "'a.txt', line 1: 'gene_id G1 G2' begins with a header; put it on a line of its own or leave it out",
    ],
    ['Gene ID\n', "'a.txt' holds no gene id"],
  ] as const)
    await sample.refuses([{ name: 'a.txt', text }], [said]);
});

t.test('lines with the same number of words are taken as ids, with a word about it', async (t) => {
  const sample = await sampleRun(t, 'genelist', db);
  t.same(await sample.import([{ name: 'a.txt', text: 'G1\tkinase\nG2\tactin\n' }]), {
    exit: 0,
    said: ['every line has 2 words, and each was taken as a gene id; if this is a table, upload its ids alone'],
    output: { [LIST]: 'G1\nkinase\nG2\nactin\n' },
  });
  for (const text of ['G1 G2\n', 'G1 G2\nG3\n', 'G1,\nG2,\n'])
    t.same((await sample.import([{ name: 'a.txt', text }])).said, []);
});

t.test('quotes around an id are left out, and other quotes are faults', async (t) => {
  const sample = await sampleRun(t, 'genelist', db);
  t.same((await sample.import([{ name: 'a.txt', text: '"G1","G2"\r\n"G3"\r\n' }])).output, { [LIST]: 'G1\nG2\nG3\n' });
  const ID = 'is not a gene id: 1 to 80 of the characters A-Z a-z 0-9 ( ) . : _ -';
  await sample.refuses(
    [{ name: 'a.txt', text: '"G1 x"\n\'G2\'\n' }],
    [`line 1: '"G1' ${ID}`, `line 1: 'x"' ${ID}`, `line 2: ''G2'' ${ID}`],
  );
});

t.test('a fault is told with its line, whatever ends the lines', async (t) => {
  const sample = await sampleRun(t, 'genelist', db);
  const ID = 'is not a gene id: 1 to 80 of the characters A-Z a-z 0-9 ( ) . : _ -';
  for (const end of ['\n', '\r\n', '\r'])
    for (const lines of [0, 1, 2, 16_383, 16_384, 21_845, 21_846]) {
      const text = `${`G1${end}`.repeat(lines)}*3${end}G4`;
      await sample.refuses([{ name: 'a.txt', text }], [`line ${lines + 1}: '*3' ${ID}`]);
    }
});
