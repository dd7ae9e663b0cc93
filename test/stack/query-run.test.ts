import { mkdir, mkdtemp, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { stringify } from 'yaml';
import { EXIT } from '../../bin/cli/command.ts';
import { BlastDatabaseFiles } from '../../engine/adapters/blast/blast-database.ts';
import { QueryJobsDirectory } from '../../engine/adapters/blast/query-jobs-directory.ts';
import { parseQueryJobId, QUERY_PROGRAMS, type QueryProgram } from '../../engine/model/report/query-job.ts';
import { longshore } from '../support/longshore.ts';
import { run } from '../support/run-command.ts';
import { blast, blastDirectory, fasta, makeDatabase, mutated, randomNumbers, randomResidues } from './blast.ts';

const signal = new AbortController().signal;
const env = { PATH: process.env.PATH };

/** A directory with databases `n` and `p`, queries for them, and a configuration for it. */
async function setup(t: Test, report: object = {}) {
  const dir = await blastDirectory(t);
  const random = randomNumbers(11);
  for (const [name, molecule] of [
    ['n', 'nucleotide'],
    ['p', 'protein'],
  ] as const) {
    const core = randomResidues(molecule, 300, random);
    const sequences = Array.from({ length: 12 }, (_, i) => ({
      title: `${name}${i}`,
      residues: mutated(core, 0.02 * i, molecule, random),
    }));
    await makeDatabase({ dir, name, molecule, sequences });
    await writeFile(join(dir, `${name}.query`), fasta([{ title: 'q', residues: core }]));
  }
  const root = join(dir, 'jobs', 'here');
  const config = join(dir, 'longshore.yaml');
  await writeFile(config, stringify({ report: { queryJobs: { root }, blastDb: `/nowhere:${dir}`, ...report } }));
  const command = (...args: string[]) => run('query', ['run', '--config', config, ...args], env);
  return { dir, root, config, command, jobs: new QueryJobsDirectory({ root }) };
}

/** The id on the one line of output. */
function idIn(t: Test, { code, out, err }: Awaited<ReturnType<typeof run>>) {
  t.strictSame([code, err], [EXIT.ok, '']);
  const id = parseQueryJobId(out.trimEnd());
  if (id === undefined || out !== `${id}\n`) throw new Error(`'${out}' is no id`);
  return id;
}

t.test('every program leaves a job that the formatter can read', async (t) => {
  const { dir, root, command, jobs } = await setup(t);
  const files = new BlastDatabaseFiles({ searchPath: [dir] });
  const killed = join(root, '.new-killed');
  await mkdir(killed, { recursive: true });
  const then = Date.now() / 1000 - 2 * 3_600;
  await utimes(killed, then, then);
  for (const program of Object.keys(QUERY_PROGRAMS) as QueryProgram[]) {
    const molecule = QUERY_PROGRAMS[program];
    const db = molecule === 'protein' ? 'p' : 'n';
    const sequences = ['blastp', 'tblastn'].includes(program) ? 'p.query' : 'n.query';
    const result = await command('--program', program, '--db', db, '--query', join(dir, sequences));
    const id = idIn(t, result);
    const fingerprint = await files.fingerprint([db], molecule, signal);
    t.strictSame(await jobs.find(id, signal), { id, program, databases: [db], fingerprint, status: 'complete' });
    t.strictSame((await readdir(join(root, id))).sort(), ['job.json', 'report.asn1']);
    await blast(
      'blast_formatter',
      ['-archive', join(root, id, 'report.asn1'), '-outfmt', '5', '-out', join(dir, 'x')],
      dir,
    );
    t.match(await readFile(join(dir, 'x'), 'utf8'), `<BlastOutput_program>${program}</BlastOutput_program>`);
  }
  t.equal((await readdir(root)).length, 5, 'nothing but the jobs, nor what a killed search began');
});

t.test('the same search is the same job and is not run again; any other is another', async (t) => {
  const { dir, root, command } = await setup(t);
  const args = ['--program', 'blastn', '--db', 'n', '--query', join(dir, 'n.query')];
  const id = idIn(t, await command(...args));
  const mark = join(root, id, 'report.asn1');
  await writeFile(mark, 'still here');
  t.equal(idIn(t, await command(...args)), id);
  t.equal(await readFile(mark, 'utf8'), 'still here');
  t.strictSame(JSON.parse((await command(...args, '--json')).out), { queryJobId: id });
  const ids = new Set([id, idIn(t, await command(...args, '--max-target-seqs', '7'))]);
  ids.add(idIn(t, await command('--program', 'tblastx', ...args.slice(2))));
  ids.add(idIn(t, await command(...args.slice(0, 4), '--query', join(dir, 'n.fa'))));
  await makeDatabase({
    dir,
    name: 'n',
    molecule: 'nucleotide',
    sequences: [{ title: 'other', residues: 'ACGT'.repeat(20) }],
  });
  ids.add(idIn(t, await command(...args)));
  t.equal(ids.size, 5);
});

t.test('a database is named as it is found, and by its path only where it has no name', async (t) => {
  const { dir, command, jobs } = await setup(t);
  await mkdir(join(dir, 'sub'));
  await makeDatabase({
    dir: join(dir, 'sub'),
    name: 'm',
    molecule: 'nucleotide',
    sequences: [{ title: 's', residues: 'ACGT'.repeat(20) }],
  });
  const outside = await blastDirectory(t);
  await makeDatabase({
    dir: outside,
    name: 'o',
    molecule: 'nucleotide',
    sequences: [{ title: 's', residues: 'ACGT'.repeat(20) }],
  });
  const names = ['n', join(dir, 'sub', 'm'), join(outside, 'o')];
  const dbs = names.flatMap((name) => ['--db', name]);
  const id = idIn(t, await command('--program', 'blastn', ...dbs, '--query', join(dir, 'n.query')));
  t.strictSame((await jobs.find(id, signal))?.databases, ['n', 'sub/m', join(outside, 'o')]);
});

t.test('a limit of hits is the search, not the report', async (t) => {
  const { dir, root, command } = await setup(t);
  const args = ['--program', 'blastn', '--db', 'n', '--query', join(dir, 'n.query')];
  const rows = async (...more: string[]): Promise<number> => {
    const { out } = await command(...args, ...more);
    await blast(
      'blast_formatter',
      ['-archive', join(root, out.trimEnd(), 'report.asn1'), '-outfmt', '6', '-out', join(dir, 'x')],
      dir,
    );
    return (await readFile(join(dir, 'x'), 'utf8')).trimEnd().split('\n').length;
  };
  t.ok((await rows()) > 5);
  t.equal(await rows('--max-target-seqs', '5'), 5);
});

t.test('a search that fails leaves nothing, and says why', async (t) => {
  const { dir, root, command } = await setup(t);
  const files = { empty: '', bad: 'hello $$$\n' };
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text);
  const failing = (file: string, db = 'n') => command('--program', 'blastn', '--db', db, '--query', file);
  const rejects = (promise: Promise<unknown>, message: RegExp | string, kind = 'rejected') =>
    t.rejects(promise, { kind, message });
  await rejects(failing(join(dir, 'empty')), `blastn found no sequences in ${join(dir, 'empty')}`);
  await rejects(failing(join(dir, 'bad')), /^blastn ended with code 1: BLAST query error: /);
  await rejects(failing(join(dir, 'nothing')), /^--query .*nothing cannot be read: ENOENT/);
  await rejects(failing(join(dir, 'n.query'), 'x'), /^the nucleotide database 'x' cannot be used: there is no /);
  await rejects(failing(join(dir, 'n.query'), 'p'), /^the nucleotide database 'p' cannot be used/);
  await rejects(failing(join(dir, 'n.query'), 'n n'), "--db 'n n': names with white space or quotes are not supported");
  t.strictSame(await readdir(root), []);
});

t.test('a job that another program has not finished is not written over', async (t) => {
  const { dir, root, command } = await setup(t);
  const args = ['--program', 'blastn', '--db', 'n', '--query', join(dir, 'n.query')];
  const id = idIn(t, await command(...args));
  const file = join(root, id, 'job.json');
  await writeFile(file, (await readFile(file, 'utf8')).replace('complete', 'failed'));
  await t.rejects(command(...args), { kind: 'rejected', message: `query job ${id} already exists, and is failed` });
});

t.test('programs are those of the configured directory, and their absence is told', async (t) => {
  const { dir, command } = await setup(t, { blastBin: '/nowhere' });
  await t.rejects(command('--program', 'blastn', '--db', 'n', '--query', join(dir, 'n.query')), {
    ...{ kind: 'transient', unreachable: true, message: '/nowhere/blastn does not exist; NCBI BLAST+ is required' },
  });
});

t.test('the program itself runs a search for a data directory', async (t) => {
  const { dir, root, config } = await setup(t);
  const data = await mkdtemp(join(tmpdir(), 'longshore-data-'));
  t.teardown(() => rm(data, { recursive: true }));
  await rename(config, join(data, 'config.yaml'));
  const args = ['query', 'run', '--data', data, '--program', 'blastn', '--db', './n', '--query', 'n.query'];
  const { code, stdout, stderr } = await longshore(args, { cwd: dir });
  t.strictSame([code, stderr], [EXIT.ok, '']);
  t.strictSame(await readdir(root), [stdout.trimEnd()]);
});
