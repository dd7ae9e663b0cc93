import t from 'tap';
import { sampleDatabase, sampleRun } from './sample-run.ts';

const db = await sampleDatabase(t);
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
