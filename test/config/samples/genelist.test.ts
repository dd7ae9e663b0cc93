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
