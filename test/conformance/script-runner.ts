// What every ScriptRunner does. Programs go by names that each implementation maps to its own.

import type { Test } from 'tap';
import type { ScriptRunner, ScriptSpec } from '../../engine/ports/script-runner.ts';
import { systemClock } from '../../engine/runtime/time.ts';

export const PROGRAMS = [
  'echo-args',
  'exit-with',
  'copy-stdin',
  'print-env',
  'hang',
  'kill-self',
  'flood',
  'ignore-stdin',
  'missing',
  'not-executable',
] as const;
export type ProgramName = (typeof PROGRAMS)[number];

export interface ScriptRunnerSetup {
  readonly runner: ScriptRunner;
  /** Absolute path of an existing folder. */
  readonly workspace: string;
  readonly program: (name: ProgramName) => string;
}

export function scriptRunnerConformance(t: Test, setup: (t: Test) => Promise<ScriptRunnerSetup>): void {
  const signal = new AbortController().signal;
  let runs = 0;

  const open = async (t: Test) => {
    const { runner, workspace, program } = await setup(t);
    const spec = (name: ProgramName, more: Partial<ScriptSpec> = {}): ScriptSpec => ({
      program: program(name),
      args: [],
      cwd: workspace,
      env: { PATH: '/usr/bin:/bin' },
      maxDurationMs: 20_000,
      runId: `conformance-${process.pid}-${runs++}`,
      ...more,
    });
    const run = async (name: ProgramName, more: Partial<ScriptSpec> = {}) => {
      const { durationMs, ...rest } = await runner.run(spec(name, more), signal);
      t.ok(durationMs >= 0);
      return rest;
    };
    return { runner, workspace, spec, run, program };
  };

  const fact = (what: string, check: (t: Test, world: Awaited<ReturnType<typeof open>>) => Promise<void>): void => {
    t.test(what, async (t) => check(t, await open(t)));
  };

  fact('passes arguments as they are and collects both outputs', async (t, { run }) => {
    const lines: string[] = [];
    const args = ['two words', '', '$HOME `id` "; rm -rf', 'Größe λ 🧬', '--flag'];
    t.same(await run('echo-args', { args, onStderr: (line) => lines.push(line) }), {
      end: { kind: 'exited', code: 0 },
      stdout: args,
      stderrTail: 'first of two\nno line end',
    });
    t.same(lines, ['first of two', 'no line end']);
  });

  fact('reports the exit code with what was said', async (t, { run }) => {
    for (const code of [1, 99, 255])
      t.same(await run('exit-with', { args: [String(code)] }), {
        end: { kind: 'exited', code },
        stdout: ['bye'],
        stderrTail: '',
      });
  });

  fact('feeds standard input and closes it', async (t, { run }) => {
    const lines = Array.from({ length: 5_000 }, (_, i) => `dependency ${i}\t1.0`);
    const fed = await run('copy-stdin', { stdin: lines.map((line) => `${line}\n`) });
    t.same(fed, { end: { kind: 'exited', code: 0 }, stdout: lines, stderrTail: '' });
    t.same(await run('copy-stdin'), { end: { kind: 'exited', code: 0 }, stdout: [], stderrTail: '' });
  });

  fact('a script that does not read its input is not held by it', async (t, { run }) => {
    const stdin = Array.from({ length: 1_000 }, () => 'x'.repeat(1_000));
    t.same((await run('ignore-stdin', { stdin })).end, { kind: 'exited', code: 0 });
  });

  t.test('a fault of the caller while giving input ends the script and reaches the caller', async (t) => {
    const { runner, spec } = await open(t);
    function* broken(): Generator<string> {
      yield 'first\n';
      throw new Error('no second line');
    }
    await t.rejects(runner.run(spec('copy-stdin', { stdin: broken() }), signal), { message: 'no second line' });
  });

  t.test('gives the environment of the call and nothing else, and the workspace as folder', async (t) => {
    const { run, workspace } = await open(t);
    const { stdout } = await run('print-env', { env: { PATH: '/usr/bin:/bin', GREETING: 'hello world' } });
    t.same(stdout, ['GREETING=hello world', 'PATH=/usr/bin:/bin', workspace]);
  });

  fact('ends a script at its longest duration', async (t, { run }) => {
    // On a busy machine it may be over before the script began.
    for (let maxDurationMs = 150, said: readonly string[] = []; said.length === 0; maxDurationMs *= 2) {
      const { end, stdout } = await run('hang', { maxDurationMs });
      t.same(end, { kind: 'timed-out', afterMs: maxDurationMs });
      if (stdout.length > 0) t.same(stdout, ['started']);
      said = stdout;
    }
  });

  fact('an abort ends the script and rejects as aborted', async (t, { runner, spec }) => {
    const stop = new AbortController();
    const run = runner.run(spec('hang', { onStderr: () => stop.abort(new Error('shutting down')) }), stop.signal);
    await t.rejects(run, { kind: 'aborted', message: /shutting down/ });
    await t.rejects(runner.run(spec('echo-args'), stop.signal), { kind: 'aborted', message: /shutting down/ });
  });

  fact('a script that is killed says by what', async (t, { run }) => {
    t.same(await run('kill-self'), {
      end: { kind: 'killed', signal: 'SIGKILL' },
      stdout: ['last words'],
      stderrTail: '',
    });
  });

  fact('tells a missing program from one that may not be run', async (t, { run, program }) => {
    t.same(await run('missing'), {
      end: { kind: 'not-found', program: program('missing') },
      stdout: [],
      stderrTail: '',
    });
    t.same((await run('not-executable')).end, { kind: 'not-executable', program: program('not-executable') });
  });

  fact('keeps the first 10,000 lines and says how many it left out', async (t, { run }) => {
    const { stdout } = await run('flood', { args: ['10005', '3'] });
    t.equal(stdout.length, 10_001);
    t.same(stdout.slice(9_999), ['xxx', '[output truncated: 5 more lines omitted]']);
  });

  fact('cuts long lines at 16 KiB and all of them at 4 MiB', async (t, { run }) => {
    const one = await run('flood', { args: ['1', '20000'] });
    t.same(one.stdout, ['x'.repeat(16_384), '[output truncated: 1 lines truncated at 16384 bytes]']);
    const { stdout } = await run('flood', { args: ['300', '16384'] });
    t.equal(stdout.length, 256);
    t.equal(stdout.at(-1), '[output truncated: 45 more lines omitted]');
  });

  fact('runs side by side', async (t, { run }) => {
    const before = systemClock.now();
    const ends = await Promise.all([1, 2, 3, 4].map((code) => run('exit-with', { args: [String(code)] })));
    t.same(
      ends.map(({ end }) => end),
      [1, 2, 3, 4].map((code) => ({ kind: 'exited', code })),
    );
    t.ok(systemClock.now() - before < 10_000);
  });
}
