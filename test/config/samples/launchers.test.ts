import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { writeSampleLaunchers } from '../../../config/samples/launchers.ts';
import { SAMPLE_NAMES } from '../../../config/samples/samples.ts';
import { testDatabase } from '../../support/database.ts';

const run = promisify(execFile);
const ENTRY = join(import.meta.dirname, '..', '..', '..', 'bin', 'longshore.ts');
const ECHO = join(import.meta.dirname, '..', '..', 'fixtures', 'scripts', 'echo-args.sh');

t.test('a launcher passes its arguments on, whatever they hold', async (t) => {
  const dir = t.testdir();
  const launchers = await writeSampleLaunchers(dir, [ECHO, "it's $HOME"]);
  t.same(Object.keys(launchers), SAMPLE_NAMES);
  t.same(launchers.biom, {
    dataCleaning: join(dir, 'biom/import'),
    checkCompatibility: join(dir, 'biom/check-compatibility'),
    dataInstall: join(dir, 'biom/install-data'),
    metaUpdate: join(dir, 'biom/install-meta'),
    uninstall: join(dir, 'biom/uninstall'),
  });
  const { stdout } = await run(launchers.biom.dataCleaning, ['/a folder/in', '"$1"']);
  t.equal(stdout, ["it's $HOME", 'sample-script', 'biom', 'import', '/a folder/in', '"$1"', ''].join('\n'));
  t.equal((await readFile(launchers.biom.dataCleaning, 'utf8')).split('\n').length, 3);
});

t.test('a launcher that cannot be put in its place is a fault of whoever writes it', async (t) => {
  const dir = t.testdir();
  await mkdir(join(dir, 'biom/import/something'), { recursive: true });
  await t.rejects(writeSampleLaunchers(dir, [ECHO]), { code: 'EISDIR' });
});

t.test('a launcher runs the script of its plugin', async (t) => {
  const dir = t.testdir({
    input: { 'genes.txt': 'PF3D7_1 PF3D7_2 PF3D7_1' },
    output: {},
    none: {},
    bad: { 'genes.txt': '$' },
  });
  const launchers = await writeSampleLaunchers(join(dir, 'bin'), [process.execPath, ENTRY]);
  const { stdout } = await run(launchers.genelist.dataCleaning, [join(dir, 'input'), join(dir, 'output')]);
  t.equal(stdout, '1 repeated gene ids were dropped\n');
  t.equal(await readFile(join(dir, 'output', 'formatted_gene_list.txt'), 'utf8'), 'PF3D7_1\nPF3D7_2\n');
  await t.rejects(run(launchers.genelist.dataCleaning, [join(dir, 'bad'), join(dir, 'none')]), {
    code: 99,
    stdout: /^line 1: '\$' is not a gene id/,
  });
  await t.rejects(run(launchers.genelist.dataInstall, ['only-one']), {
    code: 2,
    stderr: /install-data needs 2 arguments/,
  });

  const db = await testDatabase(t);
  const data = join(dir, 'output');
  await writeFile(join(data, 'vdi-meta.json'), '{}');
  const env = {
    PATH: '/usr/bin:/bin',
    DATA_FILES: join(dir, 'site', 'x'),
    DB_HOST: db.host,
    DB_PORT: String(db.port),
    DB_NAME: db.database,
    DB_USER: db.user,
    DB_PASS: db.password,
    DB_SCHEMA: 'public',
    DB_PLATFORM: 'Postgres',
  };
  const installed = await run(launchers.genelist.dataInstall, ['dataset1', data], { env });
  t.match(installed.stderr, /^2 gene ids$/m);
  t.equal(await readFile(join(dir, 'site', 'x', 'formatted_gene_list.txt'), 'utf8'), 'PF3D7_1\nPF3D7_2\n');
  await t.rejects(run(launchers.genelist.dataInstall, ['dataset1', data], { env: { ...env, DB_PLATFORM: 'Oracle' } }), {
    code: 1,
    stderr: /DB_PLATFORM 'Oracle'/,
  });
});

t.test('the compatibility script reads its dependencies from standard input', async (t) => {
  const dir = t.testdir();
  await mkdir(join(dir, 'bin'));
  const launchers = await writeSampleLaunchers(join(dir, 'bin'), [process.execPath, ENTRY]);
  const child = spawn(launchers.rnaseq.checkCompatibility, { stdio: ['pipe', 'inherit', 'inherit'] });
  child.stdin.end('genome\t1.0\n');
  t.same(await once(child, 'exit'), [0, null]);
});
