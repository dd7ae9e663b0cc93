// A script runner whose programs are functions: for tests of what happens around scripts, without processes.

import { CappedLines, LineCap } from '../../engine/adapters/scripts/child-process-run.ts';
import type { ScriptEnd, ScriptResult, ScriptRunner, ScriptSpec } from '../../engine/ports/script-runner.ts';
import { aborted, messageOf } from '../../engine/runtime/failure.ts';
import type { Clock } from '../../engine/runtime/time.ts';

export interface FakeScriptCall {
  readonly spec: ScriptSpec;
  /** All of standard input. */
  readonly stdin: string;
  /** Standard output, as text with line ends. */
  readonly out: (text: string) => void;
  /** Standard error, as text with line ends. */
  readonly err: (text: string) => void;
  /** Aborts when the script is ended from outside. */
  readonly signal: AbortSignal;
}

/** Resolves to the exit code, or to the name of the signal that killed it. */
export type FakeScript = (call: FakeScriptCall) => Promise<number | string>;

export class FakeScriptRunner implements ScriptRunner {
  /** Every call that started a program, in order. */
  readonly calls: ScriptSpec[] = [];
  readonly #programs: ReadonlyMap<string, FakeScript | 'not-executable'>;
  readonly #clock: Clock;

  constructor(programs: Readonly<Record<string, FakeScript | 'not-executable'>>, clock: Clock) {
    this.#programs = new Map(Object.entries(programs));
    this.#clock = clock;
  }

  async run(spec: ScriptSpec, signal: AbortSignal): Promise<ScriptResult> {
    throwIfAborted(spec, signal);
    const program = this.#programs.get(spec.program);
    if (program === undefined) return unstarted({ kind: 'not-found', program: spec.program });
    if (program === 'not-executable') return unstarted({ kind: 'not-executable', program: spec.program });
    this.calls.push(spec);
    const stdin = [...(spec.stdin ?? [])].join('');
    const started = this.#clock.now();
    const stdout = new CappedLines();
    const told = new LineCap((line) => spec.onStderr?.(line));
    let stderr = '';
    const over = new AbortController();
    const ended = AbortSignal.any([signal, over.signal]);
    const err = (text: string): void => {
      stderr += text;
      told.write(Buffer.from(text));
    };
    const out = (text: string): void => stdout.write(Buffer.from(text));
    // Sleeping instead of `after`: a program that hangs must not let the test process run out of work.
    const late = this.#clock.sleep(spec.maxDurationMs, ended).then(
      (): ScriptEnd => ({ kind: 'timed-out', afterMs: spec.maxDurationMs }),
      (): ScriptEnd => ({ kind: 'killed', signal: 'SIGTERM' }),
    );
    const end = await Promise.race([program({ spec, stdin, out, err, signal: ended }).then(endOf), late]);
    over.abort();
    told.end();
    throwIfAborted(spec, signal);
    return { end, stdout: stdout.end(), stderrTail: stderr, durationMs: this.#clock.now() - started };
  }
}

const endOf = (code: number | string): ScriptEnd =>
  typeof code === 'number' ? { kind: 'exited', code } : { kind: 'killed', signal: code };

const unstarted = (end: ScriptEnd): ScriptResult => ({ end, stdout: [], stderrTail: '', durationMs: 0 });

function throwIfAborted(spec: ScriptSpec, signal: AbortSignal): void {
  if (signal.aborted)
    throw aborted(`${spec.program} was stopped: ${messageOf(signal.reason)}`, { cause: signal.reason });
}
