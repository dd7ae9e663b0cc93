import { cp, mkdir, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { BlastDatabaseFiles } from '../../engine/adapters/blast/blast-database.ts';
import type { Molecule } from '../../engine/model/report/query-job.ts';
import { blastDirectory, makeAlias, makeDatabase, randomNumbers, randomResidues, type Sequence } from './blast.ts';

const signal = new AbortController().signal;

/** All of one length, so that an index tells nothing of their order. */
function sequencesOf(molecule: Molecule, seed: number, count = 30): readonly Sequence[] {
  const random = randomNumbers(seed);
  return Array.from({ length: count }, (_, i) => ({
    title: `seq${String(i).padStart(3, '0')}`,
    residues: randomResidues(molecule, 120, random),
  }));
}

async function setup(t: Test) {
  const dir = await blastDirectory(t);
  const sequences = sequencesOf('nucleotide', 1);
  const make = (name: string, of = sequences) => makeDatabase({ dir, name, molecule: 'nucleotide', sequences: of });
  const databases = new BlastDatabaseFiles({ searchPath: [join(dir, 'nothing'), dir] });
  const print = (...names: string[]) => databases.fingerprint(names, 'nucleotide', signal);
  return { dir, sequences, make, databases, print };
}

t.test('a database is the same by its path, by its name and somewhere else', async (t) => {
  const { dir, make, print } = await setup(t);
  const path = await make('one');
  const fingerprint = await print(path);
  t.match(fingerprint, /^[0-9a-f]{64}$/);
  t.equal(await print('one'), fingerprint);
  await cp(dir, `${dir}-moved`, { recursive: true });
  t.teardown(() => rm(`${dir}-moved`, { recursive: true }));
  t.equal(await print(`${dir}-moved/one`), fingerprint);
});

t.test('other sequences, one more, or the same in another order are another database', async (t) => {
  const { sequences, make, print } = await setup(t);
  const all = [
    sequences,
    [...sequences].reverse(),
    sequences.map(({ title }, i) => ({ title, residues: sequences[sequences.length - 1 - i]?.residues ?? '' })),
    [...sequences, ...sequencesOf('nucleotide', 2, 1)],
    sequencesOf('nucleotide', 3),
  ];
  const fingerprints: string[] = [];
  // Made within one minute, which is all that an index tells of time.
  for (const each of all) {
    const path = await make('one', each);
    fingerprints.push(await print(path));
  }
  t.equal(new Set(fingerprints).size, all.length);
});

t.test('an alias is all of its volumes', async (t) => {
  const { dir, sequences, make, print } = await setup(t);
  await Promise.all([make('one'), make('two', sequencesOf('nucleotide', 4))]);
  const both = await makeAlias(dir, 'both', ['one', 'two'], 'nucleotide');
  const before = await print(both);
  t.equal(await print('both'), before);
  t.not(await print('one', 'two'), before, 'the alias counts too');
  t.not(await print('two', 'one'), await print('one', 'two'), 'the order counts');
  await make('two', [...sequences].reverse());
  t.not(await print(both), before);
});

t.test('volumes of a large database are followed', async (t) => {
  const { dir, print } = await setup(t);
  const random = randomNumbers(5);
  const sequences = Array.from({ length: 12 }, (_, i) => ({
    title: `long${i}`,
    residues: randomResidues('protein', 400_000, random),
  }));
  const spec = { dir, name: 'large', molecule: 'protein', more: ['-max_file_sz', '2MB'] } as const;
  await makeDatabase({ ...spec, sequences });
  t.ok((await stat(join(dir, 'large.pal'))).isFile() && (await stat(join(dir, 'large.01.psq'))).size > 0);
  const databases = new BlastDatabaseFiles({ searchPath: [dir] });
  const before = await databases.fingerprint(['large'], 'protein', signal);
  const last = sequences.pop();
  await makeDatabase({ ...spec, sequences: [...sequences, { title: 'other', residues: last?.residues ?? '' }] });
  t.not(await databases.fingerprint(['large'], 'protein', signal), before);
  await rm(join(dir, 'large.01.psq'));
  await t.rejects(databases.fingerprint(['large'], 'protein', signal), {
    ...{ kind: 'rejected', message: /the protein database 'large' cannot be used: .*large\.01\.psq/ },
  });
  await t.rejects(print('large'), { kind: 'rejected', message: /'large.nin'/ }, 'it holds proteins');
});

t.test('of a large file the two ends count', async (t) => {
  const { dir, make, print } = await setup(t);
  const path = await make('one');
  const size = 5_000_000;
  await truncate(`${path}.nsq`, size);
  const before = await print(path);
  const middle = Buffer.alloc(size);
  const prints: Record<string, string> = {};
  for (const at of [0, 1_048_575, 1_048_576, size - 1_048_577, size - 1_048_576, size - 1]) {
    const content = Buffer.from(middle);
    content[at] = 1;
    await writeFile(`${path}.nsq`, content);
    prints[at] = await print(path);
  }
  await writeFile(`${path}.nsq`, middle);
  const empty = await print(path);
  t.strictSame(
    Object.values(prints).map((print) => print === empty),
    [false, false, true, true, false, false],
  );
  t.not(before, empty);
  t.ok(dir);
});

t.test('what is not there is said by name', async (t) => {
  const { dir, make, print, databases } = await setup(t);
  await t.rejects(print('nowhere'), {
    kind: 'rejected',
    message: `the nucleotide database 'nowhere' cannot be used: there is no 'nowhere.nal' or 'nowhere.nin' in ${dir}/nothing:${dir}`,
  });
  await t.rejects(print(join(dir, 'nowhere')), {
    kind: 'rejected',
    message: `the nucleotide database '${dir}/nowhere' cannot be used: there is no '${dir}/nowhere.nal' or '${dir}/nowhere.nin'`,
  });
  await t.rejects(new BlastDatabaseFiles({ searchPath: [] }).fingerprint(['one'], 'protein', signal), {
    ...{ kind: 'rejected', message: / in no directories$/ },
  });
  await make('one');
  await makeAlias(dir, 'gone', ['one'], 'nucleotide');
  await rm(join(dir, 'one.nin'));
  await t.rejects(print('gone'), { kind: 'rejected', message: /'gone' cannot be used: there is no 'one.nal'/ });
  await t.rejects(databases.fingerprint(['one\0'], 'nucleotide', signal), { kind: 'rejected', message: /null bytes/ });
  await mkdir(join(dir, 'folder.nin'));
  await t.rejects(print('folder'), { kind: 'rejected', message: /'folder' cannot be used/ });
});

t.test('aliases that name each other, and names with white space, have an end', async (t) => {
  const { dir, make, print } = await setup(t);
  await make('one');
  for (const extension of ['nin', 'nhr', 'nsq'])
    await cp(join(dir, `one.${extension}`), join(dir, `with space.${extension}`));
  await writeFile(join(dir, 'a.nal'), 'TITLE a\nDBLIST b "with space" "with space"\n');
  await writeFile(join(dir, 'b.nal'), '#\nDBLIST a\n');
  t.match(await print('a'), /^[0-9a-f]{64}$/);
  await writeFile(join(dir, 'with space.nal'), 'DBLIST "with space"\nGILIST x\n');
  t.match(await print('with space'), /^[0-9a-f]{64}$/, 'an alias of the same name as its volume');
});

t.test('who has given up is not answered', async (t) => {
  const { make, databases } = await setup(t);
  await make('one');
  const reason = new DOMException('enough', 'AbortError');
  await t.rejects(databases.fingerprint(['one'], 'nucleotide', AbortSignal.abort(reason)), reason);
});
