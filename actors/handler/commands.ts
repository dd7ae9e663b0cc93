// The configured commands of a job, in order, in one folder. The first that does not end well ends the job.

import { fillArguments, type TemplateValues } from '../../engine/model/handler-job.ts';
import type { ScriptEnd, ScriptRunner } from '../../engine/ports/script-runner.ts';
import { defect, Failure } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { JobMetrics } from './statistics.ts';

export interface HandlerCommand {
  /** A path, or a name on PATH. */
  readonly command: string;
  readonly arguments: readonly string[];
  readonly maxDurationMs: number;
}

interface CommandRun {
  /** Internal id of the job. */
  readonly id: string;
  readonly values: TemplateValues;
  readonly env: Readonly<Record<string, string>>;
  readonly log: Logger;
}

/** A command says that the user's data are at fault. */
export class UserError extends Failure {
  constructor(message: string) {
    super('rejected', message);
    this.name = 'UserError';
  }
}

/** {@link UserError}, or a failure that says which command did what. */
export async function runCommands(
  commands: readonly HandlerCommand[],
  run: CommandRun,
  parts: { readonly runner: ScriptRunner; readonly metrics: JobMetrics },
  signal: AbortSignal,
): Promise<void> {
  // All of them first: a parameter that is missing for the last one should not cost the run of the others.
  const filled = commands.map((one) => ({ ...one, args: fillArguments(one.arguments, run.values) }));
  for (const [i, { command, args, maxDurationMs }] of filled.entries()) {
    const log = run.log.child({ command, step: i + 1 });
    log.info('command started');
    const { end, stdout, stderrTail, durationMs } = await parts.runner.run(
      {
        program: command,
        args,
        cwd: run.values.cwd,
        env: run.env,
        maxDurationMs,
        runId: `handler-${run.id}-${i}`,
        onStderr: (line) => log.info({ line }, 'command says'),
      },
      signal,
    );
    parts.metrics.ran(command, durationMs);
    log.info({ end, durationMs, printed: stdout.length }, 'command ended');
    if (end.kind !== 'exited' || end.code !== 0) throw faultOf(end, stderrTail, `command ${i + 1} (${command})`);
  }
}

function faultOf(end: ScriptEnd, stderr: string, what: string): Failure {
  switch (end.kind) {
    case 'exited': {
      const said = scriptMessage(stderr);
      if (said?.fault === 'user') return new UserError(said.message);
      return defect(`${what} ended with exit code ${end.code}${said ? `: ${said.message}` : ''}`);
    }
    case 'killed':
      return defect(`${what} was killed by ${end.signal}`);
    case 'timed-out':
      return defect(`${what} took longer than its ${end.afterMs / 1000} s`);
    case 'not-found':
      return defect(`${what} (or its interpreter) does not exist`);
    case 'not-executable':
      return defect(`${what} is not executable`);
    default:
      return end satisfies never;
  }
}

/** Of our own environment; whatever else commands get is named in the configuration. */
const PASSED_ON = ['PATH', 'LANG', 'LC_ALL', 'TZ'] as const;
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

export function commandEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  passed: readonly string[],
): Readonly<Record<string, string>> {
  const given = [...PASSED_ON, ...passed].flatMap((name) => {
    const value = own[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { PATH: DEFAULT_PATH, ...Object.fromEntries(given) };
}

// What a command that failed says on standard error: the last complete JSON object there, `{"error": .., "message": ..}`.
// `error` "user" puts the blame on the user's data. Log lines, with braces or without, may stand around it.

interface ScriptMessage {
  readonly fault: 'user' | 'handler';
  readonly message: string;
}

/** Characters looked at in all: text full of braces that never close must not cost a second of the main thread. */
const BUDGET = 8_000_000;
/** Looked at by itself when the whole was too much. */
const TAIL = 2_000;

/** Undefined when there is no such object, or its fields are no text. */
export function scriptMessage(stderr: string): ScriptMessage | undefined {
  const { object, spent } = lastObject(stderr, BUDGET);
  const found = object ?? (spent ? lastObject(stderr.slice(-TAIL), BUDGET).object : undefined);
  const { error, message } = (found ?? {}) as { error?: unknown; message?: unknown };
  if (typeof error !== 'string' || typeof message !== 'string') return undefined;
  return { fault: error === 'user' ? 'user' : 'handler', message };
}

/** The last object that lies in no other. `spent`: the budget ended first. */
function lastObject(text: string, budget: number): { readonly object: object | undefined; readonly spent: boolean } {
  let object: object | undefined;
  let left = budget;
  for (let start = text.indexOf('{'); start >= 0; ) {
    const end = closing(text, start);
    left -= (end ?? text.length) - start;
    if (left < 0) return { object: undefined, spent: true };
    const parsed = end === undefined ? undefined : objectOf(text.slice(start, end));
    object = parsed ?? object;
    start = text.indexOf('{', parsed && end !== undefined ? end : start + 1);
  }
  return { object, spent: false };
}

/** Just behind the brace that closes the one at `start`. */
function closing(text: string, start: number): number | undefined {
  let depth = 0;
  let inString = false;
  for (let i = start; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === 0x5c) i++;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x7b) depth++;
    else if (code === 0x7d && --depth === 0) return i + 1;
  }
  return undefined;
}

function objectOf(text: string): object | undefined {
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}
