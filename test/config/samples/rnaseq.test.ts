import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { SAMPLES } from '../../../config/samples/samples.ts';
import { rnaSeqManifest, rnaSeqTables } from '../../fixtures/datasets.ts';
import { sampleDatabase, sampleRun } from './sample-run.ts';

const db = await sampleDatabase(t);
const FOLDER = 'HTSeqCountToTPM on collection 54: gene expression';

t.test('tables in a folder with a manifest are kept in their folder and installed', async (t) => {
  const sample = await sampleRun(t, 'rnaseq', db);
  const files = [...rnaSeqTables({ genes: 500, folder: FOLDER }), rnaSeqManifest('')];
  const { exit, said, output } = await sample.import(files);
  t.same({ exit, said }, { exit: 0, said: [] });
  t.same(output, Object.fromEntries(files.map((file) => [file.name, file.text])));
  for (let time = 0; time < 2; time++)
    t.same(await sample.run('install-data', ['rna', sample.dataDir]), { exit: 0, said: [] });
  t.same(Object.keys(await sample.installed()).sort(), [...files.map((file) => file.name), 'vdi-meta.json'].sort());
  t.same(
    await db.query(
      "select sample, unit, count(*)::int as n from rnaseq where dataset_id = 'rna' group by 1, 2 order by 1",
    ),
    ['F1', 'F2', 'F3', 'M1', 'M2', 'M3'].map((name) => ({ sample: name, unit: 'TPM', n: 500 })),
  );
  t.same(await sample.run('uninstall', ['rna']), { exit: 0, said: [] });
  t.same(await db.query('select * from rnaseq'), []);
});

t.test('files may be named by base name, by path, or from the folder of the manifest', async (t) => {
  const sample = await sampleRun(t, 'rnaseq', db);
  const table = 'gene_id\tFPKM\ng1\t1.5\n';
  const cufflinks = `tracking_id\tc\tn\tgene_id\ts\tt\tl\tle\tco\tFPKM\tlo\thi\tst\nx\t-\t-\tg1\t-\t-\t-\t-\t-\t2e3\t0\t1\tOK\n`;
  const { exit, said } = await sample.import([
    { name: 'deep/manifest.txt', text: 'A\tsub/a.txt\tsense\r\n\r\nB\tdeep/b.txt\tantisense\nC\tc.txt\tunstranded' },
    { name: 'deep/sub/a.txt', text: table },
    { name: 'deep/b.txt', text: cufflinks },
    { name: 'other/c.txt', text: table },
  ]);
  t.same({ exit, said }, { exit: 0, said: [] });
  t.same(await sample.run('install-data', ['named', sample.dataDir]), { exit: 0, said: [] });
  t.same(await db.query("select sample, gene_id, unit, value from rnaseq where dataset_id = 'named' order by sample"), [
    { sample: 'A', gene_id: 'g1', unit: 'FPKM', value: 1.5 },
    { sample: 'B', gene_id: 'g1', unit: 'FPKM', value: 2_000 },
    { sample: 'C', gene_id: 'g1', unit: 'FPKM', value: 1.5 },
  ]);
});

t.test('without manifest the upload is refused, with what to add', async (t) => {
  const sample = await sampleRun(t, 'rnaseq', db);
  await sample.refuses(rnaSeqTables({ genes: 3, folder: FOLDER }), [
    'manifest.txt is missing: add a text file named manifest.txt to the upload with one line per sample',
    'each line of manifest.txt must be: SAMPLE<TAB>FILE<TAB>unstranded|sense|antisense, and optionally <TAB>BIGWIG FILE',
    'for example: F1<TAB>F1.tabular<TAB>unstranded',
  ]);
});

t.test(
  'names are compared as people see them: whatever their Unicode form, their case and their slashes',
  async (t) => {
    const table = 'gene_id\tTPM\ng1\t1\n';
    const cases: readonly (readonly [manifest: string, listed: string, file: string])[] = [
      ['manifest.txt', 'Größe.tabular'.normalize('NFD'), 'Größe.tabular'],
      ['manifest.txt', 'Größe.tabular', 'Größe.tabular'.normalize('NFD')],
      ['manifest.txt', 'データ/ガ.tabular'.normalize('NFD'), 'データ/ガ.tabular'],
      ['manifest.txt', 'sub\\a.tabular', 'sub/a.tabular'],
      ['manifest.txt', '.\\sub\\a.tabular', 'sub/a.tabular'],
      ['manifest.txt', './a.tabular', 'a.tabular'],
      ['manifest.txt', 'A.TABULAR', 'a.tabular'],
      ['Manifest.txt', 'a.tabular', 'a.tabular'],
      ['MANIFEST.TXT', 'a.tabular', 'a.tabular'],
      ['x/Manifest.TXT', 'a.tabular', 'x/a.tabular'],
      ['X/manifest.txt', 'Å.tabular'.normalize('NFD'), 'X/Å.tabular'],
    ];
    for (const [i, [manifest, listed, file]] of cases.entries()) {
      const sample = await sampleRun(t, 'rnaseq', db);
      const files = [
        { name: manifest, text: `S1\t${listed}\tsense\n` },
        { name: file, text: table },
      ];
      const { exit, said } = await sample.import(files);
      t.same({ exit, said }, { exit: 0, said: [] }, `${manifest}: ${listed}`);
      t.same(await sample.run('install-data', [`seen${i}`, sample.dataDir]), { exit: 0, said: [] });
      t.same(await db.query('select sample from rnaseq where dataset_id = $1', [`seen${i}`]), [{ sample: 'S1' }]);
    }
  },
);

t.test('a manifest that does not fit the files is refused line by line', async (t) => {
  const sample = await sampleRun(t, 'rnaseq', db);
  const files = [
    {
      name: 'manifest.txt',
      text: 'A a.txt sense\nA\tnone.txt\tsense\nA\ta.txt\tboth\nB\ta.txt\tsense\nC\tc.txt\tsense\tc.bw\n',
    },
    { name: 'a.txt', text: 'gene_id\tTPM\ng\t1\n' },
    { name: 'extra.txt', text: 'x' },
    { name: 'x/c.txt', text: 'x' },
    { name: 'y/c.txt', text: 'x' },
  ];
  await sample.refuses(files, [
    "manifest.txt, line 1: 'A a.txt sense' is not of the form SAMPLE<TAB>FILE<TAB>unstranded|sense|antisense, and optionally <TAB>BIGWIG FILE",
    "manifest.txt, line 2: file 'none.txt' is not in the upload",
    "manifest.txt, line 3: strand 'both' must be one of unstranded, sense, antisense",
    "manifest.txt, line 3: sample 'A' stands twice",
    "manifest.txt, line 4: file 'a.txt' is listed twice",
    "manifest.txt, line 5: file 'c.txt' is not in the upload",
    "manifest.txt, line 5: file 'c.bw' is not in the upload",
    "file 'extra.txt' is not listed in manifest.txt",
    "file 'x/c.txt' is not listed in manifest.txt",
    "file 'y/c.txt' is not listed in manifest.txt",
  ]);
});

t.test('a table that is none is refused with file, line and reason', async (t) => {
  const sample = await sampleRun(t, 'rnaseq', db);
  const refuses = (text: string, ...said: readonly string[]) =>
    sample.refuses(
      [
        { name: 'manifest.txt', text: 'A\ta.txt\tsense\n' },
        { name: 'a.txt', text },
      ],
      said,
    );
  await refuses(
    'gene\tcount\ng\t1\n',
    "'a.txt', line 1: header 'gene\\tcount' must be gene_id<TAB>TPM, gene_id<TAB>FPKM or the 13 columns of Cufflinks",
  );
  await refuses(
    'gene_id\tTPM\ng\t1\ng\t-1\n\tNaN\n',
    "'a.txt', line 3: gene 'g' stands twice",
    "'a.txt', line 3: '-1' is not a number of 0 or more",
    "'a.txt', line 4: no gene id",
    "'a.txt', line 4: 'NaN' is not a number of 0 or more",
  );
  await refuses('gene_id\tTPM\ng\t1\t2\n', "'a.txt', line 2: 'g\\t1\\t2' has 3 columns; the header has 2");
  await refuses('gene_id\tTPM\n', "'a.txt' has a header but no gene");
  await refuses('', "'a.txt' is empty");
});

t.test('RNA-Seq data belong to exactly one genome', async (t) => {
  const sample = await sampleRun(t, 'rnaseq', db);
  t.same(await sample.run('check-compatibility', [], 'a\t1\n'), { exit: 0, said: [] });
  t.same(await sample.run('check-compatibility', [], 'a\t1\nb\t2\n'), {
    exit: 99,
    said: ['RNA-Seq data belong to exactly one genome; the dataset names 2'],
  });
});

t.test('22 samples with a bigWig file each are installed, byte by byte', async (t) => {
  const sample = await sampleRun(t, 'rnaseq', db);
  const names = Array.from({ length: 22 }, (_, i) => `S${i + 1}`);
  /** Of either order of bytes, with bytes that are no text. */
  const bigWig = (i: number): Buffer => {
    const head = Buffer.alloc(4);
    if (i % 2 === 0) head.writeUInt32LE(0x888ffc26);
    else head.writeUInt32BE(0x888ffc26);
    return Buffer.concat([head, Buffer.from(Array.from({ length: 5_000 }, (_, at) => (at * 7 + i) % 256))]);
  };
  const tracks = names.map((name, i) => ({
    name: `tracks/${name}${i % 3 === 0 ? '.bigwig' : '.bw'}`,
    text: bigWig(i),
  }));
  const listed = names.map((name, i) => `${name}\t${name}.txt\tunstranded\t${tracks[i]?.name}\n`);
  const tables = names.map((name, i) => ({ name: `${name}.txt`, text: `gene_id\tTPM\ng1\t${i}\ng2\t1\n` }));
  const files = [{ name: 'manifest.txt', text: listed.join('') }, ...tables, ...tracks];
  const allowed = SAMPLES.rnaseq.allowedFileExtensions;
  t.ok(files.every((file) => allowed.some((extension) => file.name.endsWith(extension))));
  const { exit, said } = await sample.import(files);
  t.same({ exit, said }, { exit: 0, said: [] });
  t.same(await sample.run('install-data', ['wigs', sample.dataDir]), { exit: 0, said: [] });
  t.equal(Object.keys(await sample.installed()).length, files.length + 1, 'and the metadata');
  for (const { name, text } of tracks)
    t.ok((await readFile(join(sample.dataDir, '..', 'site', name))).equals(text), name);
  t.same(
    await db.query("select sample, value from rnaseq where dataset_id = 'wigs' and gene_id = 'g1' order by value"),
    names.map((name, i) => ({ sample: name, value: i })),
  );
  await sample.refuses(
    files.map((file) => (file.name === 'tracks/S2.bw' ? { ...file, text: 'track type=bedGraph\n' } : file)),
    ["'tracks/S2.bw' is not a bigWig file"],
  );
});
