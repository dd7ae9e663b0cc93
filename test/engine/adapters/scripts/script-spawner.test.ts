import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { processFacts } from '../../../../engine/adapters/scripts/process-facts.ts';
import { ScriptPipes } from '../../../../engine/adapters/scripts/script-pipes.ts';
import { ScriptSpawner } from '../../../../engine/adapters/scripts/script-spawner.ts';
import type { SpawnedScript } from '../../../../engine/adapters/scripts/spawned-script.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { scriptSpawner } from '../../../../engine/runtime/program-files.ts';
import { type Clock, systemClock } from '../../../../engine/runtime/time.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';

const SPAWNER = [process.execPath, join(import.meta.dirname, '../../../../bin/spawn-scripts.ts')];
/** Says that it is ready, and starts nothing. */
const DEAF = [process.execPath, '-e', `process.send({ id: 0, kind: 'ready' }); process.on('message', () => {});`];

// As the servers of a service do: what the spawner waits for keeps no process alive.
const alive = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(alive));

/** Time stands still; the pipes have a folder of their own. */
async function setup(t: Test, argv: readonly string[] = SPAWNER, clock: Clock = new VirtualClock()) {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-test-'));
  const pipes = new ScriptPipes(systemClock, undefined, undefined, [dir]);
  const spawner = new ScriptSpawner(argv, pipes, clock, silentLogger());
  t.teardown(async () => {
    await spawner[Symbol.asyncDispose]();
    await pipes[Symbol.asyncDispose]();
    await rm(dir, { recursive: true });
  });
  const spawn = async (program: string, ...args: string[]): Promise<SpawnedScript> => {
    const script = await spawner.spawn({ program, args, cwd: '/', env: { PATH: '/usr/bin:/bin' } });
    if (!script) throw new Error('there is no process that starts scripts');
    script.stderr?.resume();
    // Whoever waits for it hears of it there.
    script.closed.catch(() => undefined);
    return script;
  };
  /** The process that starts scripts now. */
  const parent = async (): Promise<number> => {
    const script = await spawn('/bin/sh', '-c', 'echo $PPID');
    const said = script.stdout ? await text(script.stdout) : '';
    await script.closed;
    return Number(said);
  };
  return { dir, pipes, spawner, spawn, parent };
}

/** Ends a script that goes on by itself. */
async function end(script: SpawnedScript): Promise<void> {
  script.stdout?.resume();
  process.kill(script.pid, 'SIGKILL');
  await script.closed;
}

t.test('the process ends when no script has run for a minute, and the next script has one again', async (t) => {
  const clock = new VirtualClock();
  const { spawn, parent } = await setup(t, SPAWNER, clock);
  const long = await spawn('/bin/sleep', '600');
  const first = await parent();
  await clock.advance(3_600_000);
  t.equal(await parent(), first, 'while a script runs it stays');
  await end(long);
  await clock.advance(59_999);
  t.equal(await parent(), first, 'for less than a minute it stays');
  await clock.advance(60_000);
  t.not(await parent(), first);
});

t.test('it ends with whoever asked for it, also while a script runs, whose end is not known then', async (t) => {
  const { spawner, pipes, spawn, parent, dir } = await setup(t);
  const long = await spawn('/bin/sleep', '600');
  t.teardown(() => process.kill(long.pid, 'SIGKILL'));
  const pid = await parent();
  await spawner[Symbol.asyncDispose]();
  t.equal(await processFacts(pid), undefined);
  await t.rejects(long.exit, { kind: 'transient', message: 'the spawner process ended' });
  t.equal(await spawner.spawn({ program: '/bin/true', args: [], cwd: '/', env: {} }), undefined);
  t.ok(await processFacts(long.pid), 'the script is left to whoever started it');
  await pipes[Symbol.asyncDispose]();
  t.strictSame(await readdir(dir), []);
});

t.test('its memory is small, because each fork copies the page tables', async (t) => {
  const argv = scriptSpawner(t.testdir());
  const first = await setup(t, argv);
  await first.parent();
  await first.spawner[Symbol.asyncDispose]();
  const { parent } = await setup(t, argv);
  const memory = await readFile(`/proc/${await parent()}/smaps_rollup`, 'utf8');
  const megabytes = Number(/^Anonymous: +(\d+) kB$/m.exec(memory)?.[1]) / 1024;
  t.ok(megabytes < 20, `${megabytes} MB; with the compiler of TypeScript it is 27`);
});

t.test('of a script that does not start nothing stays open', async (t) => {
  const { spawn, parent } = await setup(t);
  const script = await spawn('/nowhere/program');
  t.match(await script.spawned, { code: 'ENOENT' });
  t.equal(script.pid, 0);
  t.strictSame([script.stdout, script.stderr], [undefined, undefined]);
  t.ok(await parent(), 'others are started');
});

t.test('a program without output runs there too, once the process is up', async (t) => {
  const { spawner, spawn } = await setup(t);
  const command = { program: '/bin/sh', args: ['-c', 'exit 7'], cwd: '/', env: {} };
  t.equal(spawner.run(command), undefined, 'it starts with the first script');
  await (await spawn('/bin/true')).closed;
  t.strictSame(await spawner.run(command), { code: 7, signal: null });
  const unstarted = async (): Promise<void> => {
    await spawner.run({ ...command, program: '/nowhere/program' });
  };
  await t.rejects(unstarted, { code: 'ENOENT' });
  await spawner[Symbol.asyncDispose]();
  t.equal(spawner.run(command), undefined);
});

t.test('one that starts no script in time is ended', async (t) => {
  let waits = 0;
  const hasty: Clock = {
    ...systemClock,
    after: (_ms, fire) => {
      // The start of the process is waited for first.
      if (++waits === 2) setImmediate(fire);
      return () => {};
    },
  };
  const { spawn } = await setup(t, DEAF, hasty);
  t.match(await (await spawn('/bin/true')).spawned, { kind: 'transient', message: /spawner process ended/ });
});

t.test('where it cannot be started nothing is left of the attempt, and it is not tried again', async (t) => {
  for (const argv of [['/nowhere/node'], ['/bin/false']]) {
    const { dir, spawner } = await setup(t, argv);
    for (let n = 0; n < 2; n++)
      t.equal(await spawner.spawn({ program: '/bin/true', args: [], cwd: '/', env: {} }), undefined);
    t.strictSame(await readdir(dir), []);
  }
});
