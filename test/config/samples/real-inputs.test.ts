// Real files, where the environment names their folder: counts that are known from elsewhere.

import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import type { SampleName } from '../../../config/samples/samples.ts';
import type { TextFile } from '../../fixtures/datasets.ts';
import { sampleDatabase, sampleRun } from './sample-run.ts';

const dir = process.env.LONGSHORE_DATA;
const skip = dir === undefined || dir === '' ? 'LONGSHORE_DATA names no folder with real inputs' : false;

t.test('real inputs', { skip }, (t) => realInputs(t, dir ?? ''));

async function realInputs(t: Test, dir: string): Promise<void> {
  const db = await sampleDatabase(t);
  const installed = async (t: Test, name: SampleName, files: readonly TextFile[]): Promise<unknown> => {
    const sample = await sampleRun(t, name, db);
    t.equal((await sample.import(files)).exit, 0);
    t.same(await sample.run('install-data', [`real-${files[0]?.name}`, sample.dataDir]), { exit: 0, said: [] });
    const [row] = await db.query<{ n: number }>(`select count(*)::int as n from ${name} where dataset_id = $1`, [
      `real-${files[0]?.name}`,
    ]);
    return row?.n;
  };
  const file = async (name: string): Promise<TextFile> => ({ name, text: await readFile(join(dir, name), 'utf8') });

  t.test('the gene list has 5,720 ids', async (t) => {
    t.equal(await installed(t, 'genelist', [await file('genelist.txt')]), 5_720);
  });
  t.test('the study table has 1,000 rows', async (t) => {
    t.equal(await installed(t, 'isasimple', [await file('isasimple.csv')]), 1_000);
  });
  t.test('the BIOM tables have 919 and 2,997 non-zero cells', async (t) => {
    t.equal(await installed(t, 'biom', [await file('biom-small.biom')]), 919);
    t.equal(await installed(t, 'biom', [await file('biom-large.biom')]), 2_997);
  });
  t.test('the RNA-Seq archive is refused without manifest and has 31,524 values with one', async (t) => {
    const out = t.testdir();
    await promisify(execFile)('tar', ['xzf', join(dir, 'rnaseq-nested-no-manifest.tgz'), '-C', out]);
    const folder = 'HTSeqCountToTPM on collection 54: gene expression';
    const names = ['M1', 'M2', 'M3', 'F1', 'F2', 'F3'].map((name) => `${folder}/${name}.tabular`);
    const files = await Promise.all(
      names.map(async (name) => ({ name, text: await readFile(join(out, name), 'utf8') })),
    );
    const sample = await sampleRun(t, 'rnaseq', db);
    t.equal((await sample.import(files)).exit, 99);
    const manifest = names.map((name, i) => `S${i}\t${name}\tunstranded\n`).join('');
    await writeFile(join(out, 'manifest.txt'), manifest);
    t.equal(await installed(t, 'rnaseq', [{ name: 'manifest.txt', text: manifest }, ...files]), 6 * 5_254);
  });
}
