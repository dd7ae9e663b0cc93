// The resident process of the sample plugins begins, ends and crashes; no script is lost.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import t, { type Test } from 'tap';
import { systemClock } from '../../../engine/runtime/time.ts';
import { testDatabase } from '../../support/database.ts';
import { folder, ran, type SamplesWorld, samplesWorld, until } from '../../support/resident-samples.ts';

const IMPATIENT = join(import.meta.dirname, '..', '..', 'fixtures', 'scripts', 'impatient-samples.ts');

/** Runs a script that succeeds; says who ran it. */
async function anyScript({ run, launchers }: SamplesWorld): Promise<string> {
  const result = await run(launchers.lightweight.checkCompatibility, []);
  t.same(result.end, { kind: 'exited', code: 0 });
  return ran(result);
}

/** An installation that waits for a lock until the connection ends. */
async function held(t: Test, { dir, launchers, run, env }: SamplesWorld) {
  const db = await testDatabase(t);
  const sql = new pg.Client(db);
  await sql.connect();
  t.teardown(() => sql.end());
  await sql.query("select pg_advisory_lock(hashtextextended('genelist/held', 0))");
  const data = await folder(join(dir, 'data'));
  await writeFile(join(data, 'formatted_gene_list.txt'), 'G1\n');
  const result = run(launchers.genelist.dataInstall, ['held', data], { env: env(db, join(dir, 'site')) });
  await until(async () => {
    const { rows } = await sql.query("select from pg_locks where locktype = 'advisory' and not granted");
    return rows.length > 0;
  });
  return { result };
}

t.test('it starts with the first script, and many at the same time share it', async (t) => {
  const world = await samplesWorld(t);
  t.same(await world.processes(), []);
  const who = await Promise.all(Array.from({ length: 20 }, () => anyScript(world)));
  t.same([...new Set(who)], ['resident']);
  t.equal((await world.processes()).length, 1);
});

t.test('it ends when nobody asks, and starts again for the next script', async (t) => {
  const world = await samplesWorld(t, [process.execPath, IMPATIENT]);
  for (let n = 0; n < 3; n++) {
    t.equal(await anyScript(world), 'resident');
    await until(async () => (await world.processes()).length === 0);
  }
  for (let n = 0; n < 20; n++) t.equal(await anyScript(world), 'resident', 'while it is about to end');
});

t.test('launchers find where to ask at any time, even while it ends and is about to start again', async (t) => {
  const world = await samplesWorld(t, [process.execPath, IMPATIENT]);
  const looks = 'while [ reader -ef requests ]; do :; done';
  const launcher = spawn('/bin/sh', ['-c', looks], { cwd: world.calls, stdio: 'ignore' });
  t.teardown(() => launcher.kill('SIGKILL'));
  for (let n = 0; n < 10; n++) {
    await anyScript(world);
    await until(async () => (await world.processes()).length === 0);
  }
  t.equal(launcher.exitCode, null, 'it found the reader each time');
});

t.test('scripts whose resident process crashes are run again, and the next do without it', async (t) => {
  const world = await samplesWorld(t);
  const { result } = await held(t, world);
  const [pid = 0] = await world.processes();
  process.kill(pid, 'SIGKILL');
  t.equal(ran(await result), 'own process');
  t.equal(await anyScript(world), 'own process');
  t.same(await world.processes(), []);
});

t.test('one that has lost its standard input with it is run again later', async (t) => {
  const world = await samplesWorld(t);
  t.equal(await anyScript(world), 'resident');
  const [pid = 0] = await world.processes();
  const pipes = ['stdin', 'stdout', 'stderr'].map((name) => join(world.dir, name));
  execFileSync('mkfifo', pipes);
  // Its input does not end.
  const stdio = pipes.map((path) => openSync(path, constants.O_RDWR)) as [number, number, number];
  const launcher = spawn(world.launchers.rnaseq.checkCompatibility, [], { stdio });
  const exited = once(launcher, 'exit');
  await until(() => world.taken().includes(launcher.pid ?? 0));
  process.kill(pid, 'SIGKILL');
  t.same(await exited, [75, null]);
  for (const fd of stdio) closeSync(fd);
});

t.test('after a crash it rests, and serves again', async (t) => {
  const world = await samplesWorld(t, undefined, 1);
  t.equal(await anyScript(world), 'resident');
  const [pid = 0] = await world.processes();
  process.kill(pid, 'SIGKILL');
  await until(async () => (await anyScript(world)) === 'resident');
  t.notSame(await world.processes(), [pid]);
});

t.test('one that does not start costs no script', async (t) => {
  for (const argv of [['/bin/false'], ['/nowhere/node']]) {
    const world = await samplesWorld(t, argv);
    t.same([await anyScript(world), await anyScript(world)], ['own process', 'own process'], String(argv));
  }
});

t.test('nor does a folder that was removed, or cannot be made', async (t) => {
  const removed = await samplesWorld(t);
  t.equal(await anyScript(removed), 'resident');
  await rm(removed.calls, { recursive: true });
  t.equal(await anyScript(removed), 'own process');
  const [pid = 0] = await removed.processes();
  process.kill(pid, 'SIGKILL');
  await until(async () => (await removed.processes()).length === 0);
  t.equal(await anyScript(removed), 'own process');
});

t.test('nor does a link that cannot be replaced', async (t) => {
  const world = await samplesWorld(t, [process.execPath, IMPATIENT]);
  await mkdir(join(world.calls, 'reader.new'));
  t.equal(await anyScript(world), 'resident');
  await until(async () => (await world.processes()).length === 0);
  t.equal(await anyScript(world), 'own process');
});

t.test('it ends with the service, and what still waits runs by itself', async (t) => {
  const world = await samplesWorld(t);
  const { result } = await held(t, world);
  await world.resident.stop(systemClock.now() + 10_000);
  t.same(await world.processes(), []);
  t.equal(ran(await result), 'own process');
  t.equal(await anyScript(world), 'own process');
});

t.test('what a service left behind that was killed is replaced', async (t) => {
  const world = await samplesWorld(t);
  await world.resident.stop(systemClock.now() + 10_000);
  await writeFile(join(world.calls, 'reader'), '');
  await mkdir(join(world.calls, 'another'));
  const next = await world.another();
  t.teardown(() => next.stop(systemClock.now() + 10_000));
  t.equal(await anyScript(world), 'resident');
});
