// BIOM tables made at random: the cells that are installed are those that the reference implementation reads.

import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { type SampleRun, sampleDatabase, sampleRun } from '../config/samples/sample-run.ts';
import { BIOM_FORMAT } from './python-packages.ts';

const { LONGSHORE_TEST_SEED: seed = '1' } = process.env;
const COUNT = '200';

type Cells = readonly (readonly [row: string, column: string, value: number])[];

interface Made {
  readonly text: string;
  readonly encoding: 'utf8' | 'marked' | 'utf16le';
  readonly cells: Cells;
  /** The same table in BIOM 2, in base64, and what is in it when it is converted. */
  readonly hdf5: { readonly bytes: string; readonly cells: Cells } | null;
}

const skip = BIOM_FORMAT.installed ? false : `${BIOM_FORMAT.name} is missing`;

t.test('cells of any BIOM table are those that the reference implementation reads', { skip }, async (t) => {
  const db = await sampleDatabase(t);
  const sample = await sampleRun(t, 'biom', db);
  const script = join(import.meta.dirname, 'biom-tables.py');
  const json = execFileSync(BIOM_FORMAT.python, [script, seed, COUNT], { encoding: 'utf8', maxBuffer: 1024 ** 3 });
  const tables = JSON.parse(json) as readonly Made[];
  const cells = async (): Promise<unknown> =>
    sorted(
      (
        await db.query<{ row_id: string; column_id: string; value: number }>(
          "select row_id, column_id, value from biom where dataset_id = 'foreign'",
        )
      ).map((row) => [row.row_id, row.column_id, row.value] as const),
    );
  for (const [i, made] of tables.entries()) {
    const name = `seed ${seed}, table ${i}`;
    const { exit, said } = await sample.import([{ name: 'a.biom', text: encoded(made) }]);
    t.equal(exit, 0, `${name}: ${said}`);
    await sample.run('install-data', ['foreign', sample.dataDir]);
    t.strictSame(await cells(), sorted(made.cells), name);
    if (made.hdf5 === null) continue;
    await convertsAsTold(sample, t.testdir(), made.hdf5.bytes);
    t.strictSame(await cells(), sorted(made.hdf5.cells), `${name}, converted from BIOM 2`);
  }
  t.equal(tables.length, Number(COUNT));
});

/** BIOM 2 is refused, with the command that makes it BIOM 1; what that command makes is installed. */
async function convertsAsTold(sample: SampleRun, dir: string, base64: string): Promise<void> {
  const bytes = Buffer.from(base64, 'base64');
  await sample.refuses(
    [{ name: 'a.biom', text: bytes }],
    ["'a.biom' is HDF5, not text; a BIOM 2 file is converted with: biom convert --to-json (it may round decimals)"],
  );
  await writeFile(join(dir, 'two.biom'), bytes);
  const [from, to] = [join(dir, 'two.biom'), join(dir, 'one.biom')];
  execFileSync(BIOM_FORMAT.program('biom'), ['convert', '--to-json', '-i', from, '-o', to]);
  await sample.import([{ name: 'a.biom', text: await readFile(to) }]);
  await sample.run('install-data', ['foreign', sample.dataDir]);
}

function encoded({ text, encoding }: Made): Uint8Array {
  if (encoding === 'utf16le') return Buffer.from(`\ufeff${text}`, 'utf16le');
  return Buffer.from(encoding === 'marked' ? `\ufeff${text}` : text);
}

function sorted(cells: Cells): unknown {
  return cells.map((cell) => JSON.stringify(cell)).sort();
}
