import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type ChildProcessOptions, ChildProcessRunner } from '../../../../engine/adapters/scripts/child-process.ts';
import { endLeftoverScripts } from '../../../../engine/adapters/scripts/child-process-records.ts';
import { CappedLines, LineSplitter, Tail } from '../../../../engine/adapters/scripts/child-process-run.ts';
import { processFacts } from '../../../../engine/adapters/scripts/process-facts.ts';
import type { ScriptSpec } from '../../../../engine/ports/script-runner.ts';
import { Cancelled } from '../../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { scriptRunnerConformance } from '../../../conformance/script-runner.ts';
import { type FakeScript, FakeScriptRunner } from '../../../fakes/fake-script-runner.ts';

const SCRIPTS = join(import.meta.dirname, '..', '..', '..', 'fixtures', 'scripts');
const script = (name: string): string => join(SCRIPTS, `${name}.sh`);
const signal = new AbortController().signal;
const SPAWNER = [process.execPath, join(import.meta.dirname, '../../../../bin/spawn-scripts.ts')];

async function setup(t: Test, options: Partial<ChildProcessOptions> = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-scripts-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const workspace = join(dir, 'workspace');
  const stateDir = join(dir, 'state');
  await mkdir(workspace);
  const log = silentLogger();
  const runner = new ChildProcessRunner({ stateDir, graceMs: 100, drainMs: 50, ...options }, systemClock, log);
  t.teardown(() => runner[Symbol.asyncDispose]());
  const spec = (name: string, more: Partial<ScriptSpec> = {}): ScriptSpec => ({
    program: script(name),
    args: [],
    cwd: workspace,
    env: { PATH: '/usr/bin:/bin' },
    maxDurationMs: 20_000,
    runId: `test-${process.pid}`,
    ...more,
  });
  return { runner, workspace, stateDir, spec, log };
}

/** Run ids on record. */
async function recorded(stateDir: string): Promise<string[]> {
  const lines: string[] = [];
  for (const file of await readdir(stateDir)) lines.push(...(await readFile(join(stateDir, file), 'utf8')).split('\n'));
  return lines.filter((line) => line.trim() !== '').map((line) => (JSON.parse(line) as { runId: string }).runId);
}

t.test('child processes', (t) => {
  scriptRunnerConformance(t, async (t) => ({ ...(await setup(t)), program: script }));
  t.end();
});

t.test('child processes of a small process', (t) => {
  scriptRunnerConformance(t, async (t) => ({ ...(await setup(t, { spawner: SPAWNER })), program: script }));
  t.end();
});

t.test('a script whose end cannot be heard of any more is ended, and its run may be tried again', async (t) => {
  const { runner, spec, stateDir } = await setup(t, { spawner: SPAWNER });
  const begun = Promise.withResolvers<string>();
  const run = runner.run(
    spec('endless', {
      program: '/bin/sh',
      args: ['-c', 'echo $$ $PPID >&2; exec sleep 600'],
      onStderr: (line) => begun.resolve(line),
    }),
    signal,
  );
  const [script = 0, spawner = 0] = (await begun.promise).split(' ').map(Number);
  process.kill(spawner, 'SIGKILL');
  await t.rejects(run, { kind: 'transient', message: 'the spawner process ended' });
  t.equal(await processFacts(script), undefined, 'it is gone');
  t.strictSame(await recorded(stateDir), []);
  const { end } = await runner.run(spec('again', { program: '/bin/true' }), signal);
  t.strictSame(end, { kind: 'exited', code: 0 });
});

t.test('where no such process starts, scripts start from here', async (t) => {
  for (const spawner of [['/nowhere/node'], ['/bin/false'], []]) {
    const { runner, spec } = await setup(t, { spawner });
    for (const _ of ['first', 'second']) {
      const { end } = await runner.run(spec('here', { program: '/bin/sh', args: ['-c', 'exit 7'] }), signal);
      t.strictSame(end, { kind: 'exited', code: 7 });
    }
  }
});

t.test('the process that starts scripts ends with the runner', async (t) => {
  const { runner, spec } = await setup(t, { spawner: SPAWNER });
  const { stdout } = await runner.run(spec('parent', { program: '/bin/sh', args: ['-c', 'echo $PPID'] }), signal);
  await runner[Symbol.asyncDispose]();
  t.equal(await processFacts(Number(stdout[0])), undefined);
});

t.test('the fake', (t) => {
  const programs: Record<string, FakeScript | 'not-executable'> = {
    'echo-args': async ({ spec, out, err }) => {
      for (const arg of spec.args) out(`${arg}\n`);
      err('first of two\n');
      err('no line end');
      return 0;
    },
    'exit-with': async ({ spec, out }) => {
      out('bye\n');
      return Number(spec.args[0]);
    },
    'copy-stdin': async ({ stdin, out }) => {
      out(stdin);
      return 0;
    },
    'print-env': async ({ spec, out }) => {
      for (const [name, value] of Object.entries(spec.env).sort()) out(`${name}=${value}\n`);
      out(`${spec.cwd}\n`);
      return 0;
    },
    hang: async ({ signal, out, err }) => {
      out('started\n');
      err('0\n');
      await once(signal, 'abort');
      return 'SIGTERM';
    },
    'kill-self': async ({ out }) => {
      out('last words\n');
      return 'SIGKILL';
    },
    flood: async ({ spec, out }) => {
      const [lines = '0', width = '0'] = spec.args;
      for (let i = 0; i < Number(lines); i++) out(`${'x'.repeat(Number(width))}\n`);
      return 0;
    },
    'ignore-stdin': async () => 0,
    'not-executable': 'not-executable',
  };
  scriptRunnerConformance(t, async () => ({
    runner: new FakeScriptRunner(programs, systemClock),
    workspace: '/workspace',
    program: (name) => name,
  }));
  t.end();
});

const fact = (what: string, check: (t: Test, world: Awaited<ReturnType<typeof setup>>) => Promise<void>): void => {
  t.test(what, async (t) => check(t, await setup(t)));
};

fact('a name without folder is looked up on the PATH of the call', async (t, { runner, spec }) => {
  const found = await runner.run(spec('', { program: 'echo-args.sh', args: ['x'], env: { PATH: SCRIPTS } }), signal);
  t.same(found.stdout, ['x']);
  const missing = await runner.run(spec('', { program: 'echo-args.sh', env: { PATH: '/usr/bin' } }), signal);
  t.same(missing.end, { kind: 'not-found', program: 'echo-args.sh' });
});

fact('a script whose interpreter is missing counts as not found', async (t, { runner, spec, stateDir }) => {
  const { end } = await runner.run(spec('no-interpreter'), signal);
  t.same(end, { kind: 'not-found', program: script('no-interpreter') });
  t.same(await recorded(stateDir), []);
});

fact('a missing workspace is a defect that names it', async (t, { runner, spec }) => {
  await t.rejects(runner.run(spec('echo-args', { cwd: '/nowhere/at/all' }), signal), {
    kind: 'defect',
    message: /workspace \/nowhere\/at\/all/,
  });
});

fact('a script that ignores SIGTERM is killed after the grace', async (t, { runner, spec }) => {
  const { end } = await runner.run(spec('stubborn', { maxDurationMs: 100 }), signal);
  t.same(end, { kind: 'timed-out', afterMs: 100 });
});

t.test('a script that is cancelled hard is killed at once', async (t) => {
  const { runner, spec } = await setup(t, { graceMs: 3_600_000 });
  const stop = new AbortController();
  const hard = new Cancelled('cancelled by user 9', true);
  const run = runner.run(spec('stubborn', { onStderr: () => stop.abort(hard) }), stop.signal);
  await t.rejects(run, { kind: 'aborted', message: /cancelled by user 9/ });
});

fact('a grandchild that holds the pipes does not hold the run, and is ended', async (t, { runner, spec }) => {
  const { end, stdout } = await runner.run(spec('leave-grandchild'), signal);
  t.same(end, { kind: 'exited', code: 0 });
  t.equal(await processFacts(Number(stdout[0])), undefined);
});

fact('a process that left the group is found by its variable and ended', async (t, { runner, spec }) => {
  const { end, stdout } = await runner.run(spec('leave-escapee'), signal);
  t.same(end, { kind: 'exited', code: 0 });
  t.match(stdout[0], /^[0-9]+$/);
  t.equal(await processFacts(Number(stdout[0])), undefined);
});

fact('limits are set where there is a program for it', async (t, { runner, spec, workspace }) => {
  const burnt = await runner.run(spec('burn-cpu', { limits: { cpuSeconds: 1 } }), signal);
  t.equal(burnt.end.kind, 'killed');
  const written = await runner.run(spec('write-file', { args: ['100000'], limits: { fileSizeBytes: 4096 } }), signal);
  t.not(written.end, { kind: 'exited', code: 0 });
  t.equal((await stat(join(workspace, 'big'))).size, 4096);
});

t.test('without that program scripts run unlimited', async (t) => {
  const { runner, spec, workspace } = await setup(t, { prlimit: null });
  const { end } = await runner.run(spec('write-file', { args: ['100000'], limits: { fileSizeBytes: 4096 } }), signal);
  t.same(end, { kind: 'exited', code: 0 });
  t.equal((await stat(join(workspace, 'big'))).size, 100_000);
});

fact('a run is on record while it lasts and forgotten after', async (t, { runner, spec, stateDir }) => {
  const stop = new AbortController();
  const running = Promise.withResolvers<void>();
  const run = runner.run(spec('hang', { runId: 'one', onStderr: () => running.resolve() }), stop.signal);
  await running.promise;
  t.same(await recorded(stateDir), ['one']);
  t.equal(await endLeftoverScripts(stateDir, silentLogger(), systemClock), 0, 'a living owner keeps its scripts');
  stop.abort();
  await t.rejects(run, { kind: 'aborted', message: /hang/ });
  t.same(await recorded(stateDir), []);
  await t.rejects(runner.run(spec('echo-args', { runId: '../x' }), signal), { kind: 'defect', message: /run id/ });
});

t.test('scripts of a process that was killed are ended at the next start', async (t) => {
  for (const name of ['hang', 'leave-escapee']) {
    const { stateDir, workspace, log } = await setup(t);
    const owner = spawn(
      process.execPath,
      [join(SCRIPTS, 'runner-process.ts'), stateDir, workspace, script(name === 'hang' ? 'hang' : 'escape-and-hang')],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [said] = (await once(owner.stdout, 'data')) as [Buffer];
    const pid = Number(said.toString().trim());
    owner.kill('SIGKILL');
    await once(owner, 'exit');
    t.ok(await processFacts(pid), 'the script lives on');
    t.ok((await endLeftoverScripts(stateDir, log, systemClock)) >= 1);
    // A killed process has no environment any more a moment before it is gone, and without one it is nobody's script.
    while (await processFacts(pid)) await new Promise(setImmediate);
    t.same(await readdir(stateDir), []);
  }
});

fact('a script whose group was not on record yet is found by its variable', async (t, { stateDir, workspace, log }) => {
  const runId = `unrecorded-${process.pid}`;
  const left = spawn('/bin/sleep', ['600'], { cwd: workspace, env: { LONGSHORE_RUN: runId }, stdio: 'ignore' });
  t.teardown(() => left.kill('SIGKILL'));
  await once(left, 'spawn');
  await mkdir(stateDir);
  // Of an owner that cannot be: no process has this number.
  await writeFile(join(stateDir, '4194305-1-aa.runs'), `${JSON.stringify({ runId })}\n`);
  const ended = once(left, 'exit');
  t.equal(await endLeftoverScripts(stateDir, log, systemClock), 1);
  t.same(await ended, [null, 'SIGKILL']);
});

t.test('a program is not found where a file is taken for a folder, by path as by name', async (t) => {
  for (const limits of [{}, { cpuSeconds: 100 }]) {
    const { runner, spec } = await setup(t);
    for (const program of ['/bin/sh/x', `/${'x'.repeat(300)}`, 'no-such-program'])
      t.same((await runner.run(spec('x', { program, limits }), signal)).end, { kind: 'not-found', program });
  }
});

fact('files in the state folder that are no records of scripts are left alone', async (t, { stateDir, log }) => {
  await mkdir(stateDir);
  const others = ['4194305-1-aa.runs.bak', 'copy-4194305-1-aa.runs', 'notes'].sort();
  for (const name of others) await writeFile(join(stateDir, name), '');
  t.equal(await endLeftoverScripts(stateDir, log, systemClock), 0);
  t.strictSame((await readdir(stateDir)).sort(), others);
});

fact('a state folder that does not exist yet holds no leftovers', async (t, { stateDir, log }) => {
  t.equal(await endLeftoverScripts(stateDir, log, systemClock), 0);
});

t.test('a character that is split over two reads survives', async (t) => {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => lines.push(line));
  for (const byte of Buffer.from('Größe 🧬\r\n\nλ')) splitter.write(Buffer.from([byte]));
  splitter.end();
  t.same(lines, ['Größe 🧬', '', 'λ']);
});

t.test('a line is never cut inside a character, and bytes that are no UTF-8 become replacements', async (t) => {
  for (const [bytes, lines] of [
    [`${'x'.repeat(16_383)}é\n`, ['x'.repeat(16_383), '[output truncated: 1 lines truncated at 16384 bytes]']],
    [[0x61, 0xff, 0x62, 0x0a], ['a\ufffdb']],
  ] as const) {
    const capped = new CappedLines();
    capped.write(Buffer.from(bytes as string));
    t.same(capped.end(), lines);
  }
});

t.test('of standard error the last 64 KiB are kept, from a whole character on', async (t) => {
  const kept = (...written: readonly string[]): string => {
    const tail = new Tail();
    for (const text of written) tail.write(Buffer.from(text));
    return tail.end();
  };
  const pieces = Array.from({ length: 3_000 }, (_, i) => `${'é'.repeat(40)}${String(i).padStart(4, '0')}`);
  const text = kept(...pieces);
  t.ok(Buffer.byteLength(text) > 65_000 && Buffer.byteLength(text) <= 65_536);
  t.match(text, /^é/);
  t.ok(text.endsWith('2999'));
  for (const [written, tail] of [
    ['é'.repeat(32_768), 'é'.repeat(32_768)],
    [`x${'é'.repeat(100_000)}`, 'é'.repeat(32_768)],
    [`${'é'.repeat(100_000)}x`, `${'é'.repeat(32_767)}x`],
    ['short', 'short'],
  ] as const)
    t.equal(kept(written), tail);
  t.equal(kept(), '');
});

fact('the records are gone when the runner is disposed of', async (t, { runner, spec, stateDir }) => {
  await Promise.all([1, 2, 3].map((n) => runner.run(spec('exit-with', { args: ['0'], runId: `run-${n}` }), signal)));
  t.equal((await readdir(stateDir)).length, 1);
  await runner[Symbol.asyncDispose]();
  t.same(await readdir(stateDir), []);
});

fact('a record that could not be made is tried again by the next run', async (t, { runner, spec, stateDir }) => {
  await writeFile(stateDir, 'a file where the folder belongs');
  await t.rejects(runner.run(spec('exit-with', { args: ['0'] }), signal), {
    kind: 'transient',
    message: /could not be recorded/,
  });
  await rm(stateDir);
  t.same((await runner.run(spec('exit-with', { args: ['0'] }), signal)).end, { kind: 'exited', code: 0 });
});

fact('without descriptors for its pipes a script is not started, for now', async (t, { stateDir, workspace }) => {
  const program = join(SCRIPTS, 'starved-process.ts');
  const limited = ['-c', 'ulimit -n 80; exec "$@"', 'sh'];
  const args = [...limited, process.execPath, program, stateDir, workspace, script('exit-with')];
  const starved = spawn('/bin/sh', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const said: Buffer[] = [];
  starved.stdout.on('data', (chunk: Buffer) => said.push(chunk));
  t.same(await once(starved, 'close'), [0, null]);
  t.match(
    Buffer.concat(said).toString(),
    /^exited 0\ntransient cannot create a pipe for a script: EMFILE: .*\nexited 0\n$/s,
  );
});

t.test('what is left out is counted to the last line, also one without an end', async (t) => {
  const capped = new CappedLines();
  for (let i = 0; i < 10_003; i++) capped.write(Buffer.from('x\n'));
  capped.write(Buffer.from('y\nhalf'));
  capped.write(Buffer.from(' a line'));
  const lines = capped.end();
  t.equal(lines.length, 10_001);
  t.same(lines.slice(9_999), ['x', '[output truncated: 5 more lines omitted]']);
});
