// The sample plugins on a real MariaDB: the rows that they write on PostgreSQL.

import t, { type Test } from 'tap';
import type { SampleDatabase } from '../../config/samples/row-statements.ts';
import type { SampleName } from '../../config/samples/samples.ts';
import { sampleDatabase, sampleRun, type UploadedFile } from '../config/samples/sample-run.ts';
import { mariaDbServer, openMariaDb } from './mariadb.ts';

const server = await mariaDbServer(t);
const postgres = await sampleDatabase(t);
const { db: mariaDb } = await openMariaDb(t, server);
const OK = { exit: 0, said: [] };

const UPLOADS: Readonly<Partial<Record<SampleName, readonly UploadedFile[]>>> = {
  genelist: [{ name: 'genes.txt', text: Array.from({ length: 5_000 }, (_, n) => `GENE_${n}`).join('\n') }],
  isasimple: [{ name: 'study.csv', text: 'id,λ,empty\n1,"a ""b"" \\ 🧬",\n2,x,y\n' }],
  rnaseq: [
    { name: 'manifest.txt', text: 'first sample\tcounts.txt\tunstranded\n' },
    { name: 'counts.txt', text: `gene_id\tFPKM\n${'g'.repeat(1_000)}\t0.1\ng2\t1e-300\ng3\t123456789.125\n` },
  ],
  biom: [
    {
      name: 'table.biom',
      text: JSON.stringify({
        ...{ id: null, format: 'Biological Observation Matrix 1.0.0', format_url: 'http://biom-format.org' },
        ...{ type: 'OTU table', generated_by: 'test', date: '2026-01-02T03:04:05', matrix_type: 'sparse' },
        ...{ matrix_element_type: 'float', shape: [2, 2] },
        rows: ['λ', 'r2'].map((id) => ({ id, metadata: null })),
        columns: ['c1', 'c2'].map((id) => ({ id, metadata: null })),
        data: [
          [0, 0, 0.1],
          [1, 1, 1.7976931348623157e308],
        ],
      }),
    },
  ],
};

const TABLES = (type: SampleName): readonly string[] => [type, 'dataset_meta'];

async function rows(db: Pick<SampleDatabase, 'query'>, type: SampleName): Promise<readonly string[]> {
  const found = [];
  for (const table of TABLES(type)) found.push(...(await db.query<Record<string, unknown>>(`select * from ${table}`)));
  return found.map((row) => JSON.stringify(Object.values(row).map(parsed))).sort();
}

/** MariaDB keeps JSON as text. */
const parsed = (value: unknown): unknown =>
  typeof value === 'string' && /^[[{]/.test(value)
    ? parsed(JSON.parse(value))
    : typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.entries(value).sort()
      : value;

async function both(t: Test, name: SampleName, files: readonly UploadedFile[]) {
  const runs = [await sampleRun(t, name, postgres), await sampleRun(t, name, mariaDb, 'MariaDB')];
  for (const run of runs) {
    t.equal((await run.import(files)).exit, 0);
    // The second time as after a crash.
    for (const _time of ['first', 'second']) t.strictSame(await run.run('install-data', ['one', run.dataDir]), OK);
    t.strictSame(await run.run('install-meta', ['one', run.metaFile, run.propertiesDir]), OK);
    t.strictSame(await run.run('install-data', ['other', run.dataDir]), OK);
  }
  return runs;
}

for (const [name, files] of Object.entries(UPLOADS) as [SampleName, readonly UploadedFile[]][])
  t.test(`${name}: installed twice, replaced, removed`, async (t) => {
    const runs = await both(t, name, files);
    const installed = await rows(mariaDb, name);
    t.ok(installed.length > 4);
    t.strictSame(installed, await rows(postgres, name));
    for (const dataset of ['one', 'other'])
      for (const run of runs) t.strictSame(await run.run('uninstall', [dataset]), OK);
    t.same([await rows(mariaDb, name), await rows(postgres, name)], [[], []]);
  });

t.test('loads of one dataset at the same time take turns, also while the table is made', async (t) => {
  await mariaDb.query('drop table genelist');
  const run = await sampleRun(t, 'genelist', mariaDb, 'MariaDB');
  await run.import([{ name: 'genes.txt', text: 'a\nb\nc\n' }]);
  const loads = Array.from({ length: 4 }, () => run.run('install-data', ['one', run.dataDir]));
  t.strictSame(await Promise.all(loads), [OK, OK, OK, OK]);
  t.equal((await mariaDb.query('select * from genelist')).length, 3);
});
