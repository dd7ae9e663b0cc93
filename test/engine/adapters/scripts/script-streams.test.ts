// What scripts find as their standard streams: pipes that can be opened by name, as from a shell.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { type ChildProcessOptions, ChildProcessRunner } from '../../../../engine/adapters/scripts/child-process.ts';
import { ScriptPipes } from '../../../../engine/adapters/scripts/script-pipes.ts';
import type { ScriptSpec } from '../../../../engine/ports/script-runner.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';

const SCRIPTS = join(import.meta.dirname, '..', '..', '..', 'fixtures', 'scripts');
const SPAWNER = [process.execPath, join(import.meta.dirname, '../../../../bin/spawn-scripts.ts')];
const WAYS = { 'from here': {}, 'by the small process': { spawner: SPAWNER } } as const;
const signal = new AbortController().signal;
let runs = 0;

/** The folder of the pipes is the test's own. */
async function setup(t: Test, options: Partial<ChildProcessOptions> = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-streams-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const temporary = join(dir, 'tmp');
  await mkdir(temporary);
  const stateDir = join(dir, 'state');
  const runner = new ChildProcessRunner(
    { stateDir, pipesIn: [temporary], drainMs: 500, ...options },
    systemClock,
    silentLogger(),
  );
  t.teardown(() => runner[Symbol.asyncDispose]());
  const sh = (text: string, more: Partial<ScriptSpec> = {}) =>
    runner.run(
      {
        ...{ program: '/bin/sh', args: ['-c', text], cwd: dir, env: { PATH: '/usr/bin:/bin' }, maxDurationMs: 20_000 },
        ...{ runId: `streams-${process.pid}-${runs++}`, ...more },
      },
      signal,
    );
  return { runner, temporary, sh };
}

for (const [way, options] of Object.entries(WAYS)) {
  t.test(`a script started ${way} opens its streams by name`, async (t) => {
    const { sh } = await setup(t, options);
    const text = 'cat < /dev/stdin; echo out > /dev/stdout; echo err > /dev/stderr; echo last > /proc/self/fd/1';
    t.match(await sh(text, { stdin: ['genome\t68\n', 'genome\t69\n'] }), {
      end: { kind: 'exited', code: 0 },
      stdout: ['genome\t68', 'genome\t69', 'out', 'last'],
      stderrTail: 'err\n',
    });
    t.match(await sh(text), { end: { kind: 'exited', code: 0 }, stdout: ['out', 'last'], stderrTail: 'err\n' });
  });

  t.test(`a script started ${way} has pipes`, async (t) => {
    const { sh } = await setup(t, options);
    const { stdout } = await sh('for n in 0 1 2; do stat -L -c %F /dev/fd/$n; done', { stdin: ['x'] });
    t.strictSame(stdout, ['fifo', 'fifo', 'fifo']);
    const without = await sh('for n in 0 1 2; do stat -L -c %F /dev/fd/$n; done');
    t.strictSame(without.stdout, ['character special file', 'fifo', 'fifo'], 'no input is /dev/null');
  });

  t.test(`a script started ${way} may write faster than it is read`, async (t) => {
    const { sh } = await setup(t, options);
    const { end, stdout } = await sh(
      'yes 0123456789 | head -n 300000 > /dev/stdout; yes | head -n 300000 > /dev/stderr',
    );
    t.strictSame(end, { kind: 'exited', code: 0 });
    t.equal(stdout.at(-1), '[output truncated: 290000 more lines omitted]');
  });
}

t.test('input that has ended can be opened once more, and is at its end', async (t) => {
  const { sh } = await setup(t);
  const text = 'cat; cat < /dev/stdin; cat /dev/stdin; echo over';
  const { end, stdout, durationMs } = await sh(text, { stdin: ['a\n'] });
  t.strictSame({ end, stdout }, { end: { kind: 'exited', code: 0 }, stdout: ['a', 'over'] });
  t.ok(durationMs < 15_000);
});

t.test('a process that keeps the pipes does not keep the run', async (t) => {
  for (const options of Object.values(WAYS)) {
    const { sh } = await setup(t, { ...options, drainMs: 50 });
    const { end, stdout } = await sh('sleep 600 > /dev/stdout 2> /dev/stderr & echo here');
    t.strictSame({ end, stdout }, { end: { kind: 'exited', code: 0 }, stdout: ['here'] });
  }
});

t.test('pipes have no names once their scripts run, and leave nothing', async (t) => {
  for (const options of Object.values(WAYS)) {
    const { runner, temporary, sh } = await setup(t, options);
    await Promise.all(Array.from({ length: 60 }, () => sh('exit 0', { stdin: ['x'] })));
    const [folder = ''] = await readdir(temporary);
    const names = await readdir(join(temporary, folder));
    t.ok(names.length < 100, `${names.length} pipes in stock`);
    await runner[Symbol.asyncDispose]();
    t.strictSame(await readdir(temporary), []);
  }
});

t.test('a folder of pipes that was tidied up is made anew', async (t) => {
  for (const options of Object.values(WAYS)) {
    const { temporary, sh } = await setup(t, options);
    t.strictSame((await sh('echo a')).stdout, ['a']);
    for (const name of await readdir(temporary)) await rm(join(temporary, name), { recursive: true });
    t.strictSame((await sh('echo b')).stdout, ['b']);
    t.strictSame((await sh('cat', { stdin: ['c\n'] })).stdout, ['c']);
  }
});

t.test('a folder of pipes that was tidied up when none were left is made anew', async (t) => {
  const { temporary } = await setup(t);
  await using pipes = new ScriptPipes(systemClock, undefined, undefined, [temporary]);
  const first = await pipes.output();
  const folder = dirname(first.path);
  const left = await Promise.all((await readdir(folder)).slice(1).map(() => pipes.output()));
  await rm(folder, { recursive: true });
  for (const pipe of [first, ...left]) await pipe.release();
  const next = await pipes.output();
  t.not(dirname(next.path), folder);
  await next.release();
});

t.test('pipes are in memory, or in the next place that can be written', async (t) => {
  const { temporary } = await setup(t);
  for (const [places, folder] of [
    [undefined, '/dev/shm'],
    [['/nowhere', temporary], temporary],
  ] as const) {
    const pipes = new ScriptPipes(systemClock, undefined, undefined, places);
    const pipe = await pipes.output();
    t.equal(dirname(dirname(pipe.path)), folder);
    await pipe.release();
    await pipes[Symbol.asyncDispose]();
    await t.rejects(stat(dirname(pipe.path)), { code: 'ENOENT' });
  }
});

t.test('the pipes of a process that was killed are removed by the one that starts its scripts', async (t) => {
  const { temporary } = await setup(t);
  const owner = spawn(
    process.execPath,
    [join(SCRIPTS, 'runner-process.ts'), join(temporary, 'state'), temporary, join(SCRIPTS, 'hang.sh'), ...SPAWNER],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const [said] = (await once(owner.stdout, 'data')) as [Buffer];
  owner.kill('SIGKILL');
  await once(owner, 'exit');
  process.kill(-Number(said.toString().trim()), 'SIGKILL');
  let left: string[];
  do left = (await readdir(temporary)).filter((name) => name !== 'state');
  while (left.length > 0);
  t.strictSame(left, []);
});

t.test('without a program that makes pipes no script starts, and that is said', async (t) => {
  const { sh } = await setup(t, { mkfifo: '/nowhere/mkfifo' });
  await t.rejects(sh('exit 0'), {
    kind: 'defect',
    message: /cannot create a pipe for a script: program \/nowhere\/mkfifo not found/,
  });
  const broken = await setup(t, { mkfifo: 'false' });
  await t.rejects(broken.sh('exit 0'), {
    kind: 'transient',
    message: /cannot create a pipe for a script: false in .* ended with 1/,
  });
});
