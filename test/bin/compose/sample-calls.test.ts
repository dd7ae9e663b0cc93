// What a script of a sample plugin does is the same, whether the resident process runs it or a process of its own.

import { existsSync } from 'node:fs';
import { mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import pg from 'pg';
import t from 'tap';
import { testDatabase } from '../../support/database.ts';
import { folder, ran, samplesWorld, until } from '../../support/resident-samples.ts';

const META = JSON.stringify({
  ...{ type: { name: 'genelist', version: '1.0' }, installTargets: ['AlphaDB'], visibility: 'private', owner: 42 },
  name: 'A dataset',
});

const world = await samplesWorld(t);
const { launchers, run, dir } = world;
const db = await testDatabase(t);
const sql = new pg.Client(db);
await sql.connect();
t.teardown(() => sql.end());
let last = 0;

/** The folders of an import. */
async function upload(text: string, name = 'genes.txt'): Promise<readonly [input: string, output: string]> {
  const at = join(dir, `${++last}`, 'a "folder"\n$(of) \'one\'');
  const folders = [await folder(join(at, 'in')), await folder(join(at, 'out'))] as const;
  await writeFile(join(folders[0], name), text);
  return folders;
}

/** The arguments of install-data. */
async function imported(dataset: string, genes: string): Promise<readonly [string, string]> {
  const data = await folder(join(dir, `${++last}`, 'data'));
  await writeFile(join(data, 'formatted_gene_list.txt'), genes);
  await writeFile(join(data, 'vdi-meta.json'), META);
  return [dataset, data];
}

const genesOf = async (dataset: string): Promise<readonly string[]> => {
  const { rows } = await sql.query('select gene_id from genelist where dataset_id = $1 order by gene_id', [dataset]);
  return rows.map(({ gene_id: gene }) => gene);
};

t.test(
  'a script takes arguments whatever they hold, and its lines and its exit code are those of its plugin',
  async (t) => {
    const folders = await upload('PF3D7_1 PF3D7_2 PF3D7_1');
    const good = await run(launchers.genelist.dataCleaning, folders);
    t.same([good.end, good.stdout], [{ kind: 'exited', code: 0 }, ['1 repeated gene ids were dropped']]);
    t.equal(await readFile(join(folders[1], 'formatted_gene_list.txt'), 'utf8'), 'PF3D7_1\nPF3D7_2\n');
    const bad = await run(launchers.genelist.dataCleaning, await upload('$'));
    t.match(bad, { end: { kind: 'exited', code: 99 }, stdout: [/^line 1: '\$' is not a gene id/] });
    t.equal(bad.stdout.length, 1);
    const missing = await run(launchers.genelist.dataInstall, ['dataset', folders[0]], {
      env: { PATH: '/usr/bin:/bin' },
    });
    t.match(missing, { end: { kind: 'exited', code: 1 }, stdout: [], stderrTail: /^genelist install-data: / });
  },
);

t.test('a script whose disk is full ends with 75', async (t) => {
  const folders = await upload('PF3D7_1');
  await symlink('/dev/full', join(folders[1], 'formatted_gene_list.txt'));
  const { end, stdout, stderrTail } = await run(launchers.genelist.dataCleaning, folders);
  t.same([end, stdout], [{ kind: 'exited', code: 75 }, []]);
  t.match(stderrTail, /ENOSPC/);
});

t.test('scripts at the same time have their own environment each', async (t) => {
  const two = await testDatabase(t);
  const installs = ['one', 'two'].map(async (dataset, n) => {
    const env = world.env(n === 0 ? db : two, join(dir, 'site', dataset));
    return await run(launchers.genelist.dataInstall, await imported(dataset, `GENE_${dataset}\n`), { env });
  });
  for (const { end, stderrTail } of await Promise.all(installs))
    t.same([end, stderrTail], [{ kind: 'exited', code: 0 }, '1 gene ids\n']);
  t.same(await genesOf('one'), ['GENE_one']);
  t.same(await genesOf('two'), [], 'in the database of the other');
  for (const dataset of ['one', 'two'])
    t.equal(await readFile(join(dir, 'site', dataset, 'formatted_gene_list.txt'), 'utf8'), `GENE_${dataset}\n`);
  const [, data] = await imported('one', '');
  const properties = await folder(join(dir, 'properties'));
  const args = ['one', join(data, 'vdi-meta.json'), properties];
  const env = { ...world.env(db, join(dir, 'site', 'one')), DB_PLATFORM: 'Oracle' };
  const meta = await run(launchers.genelist.metaUpdate, args, { env });
  t.match(meta, { end: { kind: 'exited', code: 1 }, stderrTail: /DB_PLATFORM 'Oracle'/ });
  t.same((await run(launchers.genelist.metaUpdate, args, { env: world.env(db, '/x') })).end, {
    kind: 'exited',
    code: 0,
  });
  const { rows } = await sql.query('select dataset_id, name from dataset_meta');
  t.same(rows, [{ dataset_id: 'one', name: 'A dataset' }]);
  await run(launchers.genelist.uninstall, ['one'], { env: world.env(db, '/x') });
  t.same(await genesOf('one'), []);
});

t.test('dependencies are read from standard input', async (t) => {
  const check = (...stdin: readonly string[]) => run(launchers.rnaseq.checkCompatibility, [], { stdin });
  t.same((await check('genome\t', '1.0\n')).end, { kind: 'exited', code: 0 });
  const many = await check(...Array.from({ length: 10_000 }, (_, n) => `genome-${n}\t1.0\n`));
  t.match(many, { end: { kind: 'exited', code: 99 }, stdout: [/exactly one genome; the dataset names 10000$/] });
  t.match(await check(), { end: { kind: 'exited', code: 99 }, stdout: [/names 0$/] });
});

t.test('what the resident process does not do runs as a process of its own', async (t) => {
  const who = async (...call: Parameters<typeof run>): Promise<string> => ran(await run(...call));
  const script = launchers.genelist.dataCleaning;
  t.equal(await who(script, await upload('G')), 'resident');
  t.equal(await who(script, await upload(`G${'\n'.repeat(300_000)}`)), 'own process', 'many bytes');
  const [many, output] = await upload('G');
  for (let n = 0; n < 100; n++) await mkdir(join(many, String(n)));
  t.equal(await who(script, [many, output]), 'own process', 'many files');
  t.equal(await who(script, [many]), 'own process', 'arguments that are missing');
  t.equal(await who(script, ['in', 'out']), 'own process', 'paths that are relative');
  t.equal(await who(script, await upload('G'), { limits: { cpuSeconds: 60 } }), 'own process', 'limits');
  t.equal(await who('/bin/sh', ['-c', '"$@" >/dev/null; echo sample-script', 'sh', script]), 'own process', 'no pipe');
  const own = await run(script, await upload('G'.repeat(300_000)));
  t.same(own.stdout.slice(0, 3), ['sample-script', 'genelist', 'import']);
  t.equal(own.stdout.length, 3 + 2 + 2, 'with its arguments, one of which has a line end');
  t.match(own.stderrTail, /^first of two\n/);
});

/** As on systems where another shell is /bin/sh: the launcher with this one as its interpreter. */
async function launcherOf(shell: string, launcher: string): Promise<string> {
  const at = join(dir, 'shells', basename(shell), basename(dirname(launcher)));
  await mkdir(at, { recursive: true });
  await symlink(shell, join(at, 'sh'));
  const copy = join(at, basename(launcher));
  await writeFile(copy, (await readFile(launcher, 'utf8')).replace('#!/bin/sh', `#!${join(at, 'sh')}`), {
    mode: 0o755,
  });
  return copy;
}

const SHELLS = ['/bin/sh', '/bin/bash', '/bin/dash', '/bin/busybox', '/bin/mksh'].filter((shell) => existsSync(shell));

for (const shell of SHELLS)
  t.test(`a script that is told to stop ends at once, and changes nothing any more: ${shell}`, async (t) => {
    const launcher = await launcherOf(shell, launchers.genelist.dataInstall);
    const env = world.env(db, join(dir, 'x'));
    const done = await run(launcher, await imported('done', 'G1\n'), { env });
    t.match(done, { end: { kind: 'exited', code: 0 }, stdout: [], stderrTail: '1 gene ids\n' });

    const call = await imported('stopped', 'G1\n');
    await sql.query('begin');
    await sql.query("select pg_advisory_xact_lock(hashtextextended('genelist/stopped', 0))");
    const stop = new AbortController();
    const stopped = run(launcher, call, { env }, stop.signal);
    await until(waits);
    stop.abort();
    await t.rejects(stopped, { kind: 'aborted', message: /was stopped/ });
    t.notOk(await world.isServing());
    await released();
    t.same(await genesOf('stopped'), []);
  });

t.test('a script whose launcher is killed changes nothing any more', async (t) => {
  const [dataset, data] = await imported('killed', 'G1\n');
  await sql.query('begin');
  await sql.query("select pg_advisory_xact_lock(hashtextextended('genelist/killed', 0))");
  const call = run(launchers.genelist.dataInstall, [dataset, data], { env: world.env(db, join(dir, 'y')) });
  await until(waits);
  const [launcher = 0] = world.taken();
  process.kill(launcher, 'SIGKILL');
  t.same((await call).end, { kind: 'killed', signal: 'SIGKILL' });
  await until(async () => !(await world.isServing()));
  await released();
  t.same(await genesOf('killed'), []);
});

t.test('nobody else can ask, and no secret is on a command line or in the environment of the process', async (t) => {
  t.equal(((await stat(world.calls)).mode & 0o777).toString(8), '700');
  t.equal(((await stat(join(world.calls, 'requests'))).mode & 0o777).toString(8), '600');
  const [pid = 0] = await world.processes();
  const { host, database, password } = db;
  for (const file of ['cmdline', 'environ']) {
    const text = await readFile(`/proc/${pid}/${file}`, 'utf8');
    for (const secret of [host, database, password]) t.notOk(text.includes(secret), `${secret} in ${file}`);
  }
});

/** Whether a script waits for the lock. */
async function waits(): Promise<boolean> {
  const { rows } = await sql.query(
    `select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`,
  );
  return rows.length > 0;
}

/** Lets the script go on that waits for the lock, until it does nothing any more. */
async function released(): Promise<void> {
  await sql.query('rollback');
  await until(async () => {
    const { rows } = await sql.query(
      `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`,
    );
    return rows.length === 0;
  });
}
