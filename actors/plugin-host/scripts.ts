// Runs one script of a plugin and interprets how it ended (plugin wire protocol, exit codes).

import { randomUUID } from 'node:crypto';
import { constants } from 'node:os';
import { OUTPUT_BYTES } from '../../engine/model/script-evidence.ts';
import { lastBytes } from '../../engine/model/utf8.ts';
import { LATER, type Validation } from '../../engine/ports/plugin-client.ts';
import type { ScriptEnd, ScriptResult, ScriptRunner } from '../../engine/ports/script-runner.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import type { HostedPlugin, HostedScript } from './hosted-plugins.ts';
import type { ScriptEnvironment } from './script-environment.ts';
import type { Workspace } from './workspace.ts';

const REFUSED = 99;
interface ScriptCall {
  readonly kind: ScriptKind;
  readonly plugin: HostedPlugin;
  readonly args: readonly string[];
  readonly workspace: Pick<Workspace, 'dir' | 'spoil'>;
  readonly env: ScriptEnvironment;
  readonly stdin?: Iterable<string>;
  /** Has the dataset, event and target of the call. */
  readonly log: Logger;
}

export type ScriptOutcome =
  | { readonly kind: 'ok'; readonly lines: readonly string[] }
  /** Exit code 99: the script refuses the data. */
  | { readonly kind: 'refused'; readonly lines: readonly string[] }
  | ScriptError
  /** Exit code 75: run it again later. */
  | (Printed & { readonly kind: 'later'; readonly message: string })
  /** It did not run to its end. */
  | (Printed & { readonly kind: 'failed'; readonly message: string; readonly started: boolean });

interface Printed {
  /** The end of what it printed. */
  readonly output?: string;
}

/** Any other exit code, or a violation of the rules: the script is at fault. */
export interface ScriptError extends Printed {
  readonly kind: 'error';
  readonly script: string;
  readonly exitCode: number;
  readonly message: string;
}

const SCRIPT_OF = {
  import: 'dataCleaning',
  check_compat: 'checkCompatibility',
  install_data: 'dataInstall',
  install_meta: 'metaUpdate',
  uninstall: 'uninstall',
} as const satisfies Record<ScriptKind, keyof HostedPlugin['scripts']>;

export class Scripts {
  readonly #runner: ScriptRunner;
  readonly #metrics: ScriptMetrics;

  constructor(runner: ScriptRunner, metrics: ScriptMetrics) {
    this.#runner = runner;
    this.#metrics = metrics;
  }

  async run(call: ScriptCall, signal: AbortSignal): Promise<ScriptOutcome> {
    const script = call.plugin.scripts[SCRIPT_OF[call.kind]];
    const log = call.log.child({ script: call.kind });
    log.info({ program: script.path }, 'script started');
    let status: ExitStatus = 'aborted';
    let exit: { readonly exitCode?: number; readonly signal?: string } = {};
    let durationMs = 0;
    try {
      const result = await this.#runner.run(
        {
          program: script.path,
          args: call.args,
          cwd: call.workspace.dir,
          env: call.env,
          ...(call.stdin ? { stdin: call.stdin } : {}),
          maxDurationMs: script.maxDurationMs,
          runId: `plugin-${randomUUID()}`,
          onStderr: (line) => log.info({ line }, 'script says'),
          ...(call.plugin.limits ? { limits: call.plugin.limits } : {}),
        },
        signal,
      );
      status = statusOf(result.end, call.kind);
      durationMs = result.durationMs;
      exit = exitOf(result.end);
      // What a script has started elsewhere, such as a container, goes on when the script is killed before that ends.
      if (status !== 'success') call.workspace.spoil();
      return outcomeOf(result, script);
    } catch (error) {
      call.workspace.spoil();
      throw error;
    } finally {
      log[FAILED.has(status) ? 'warn' : 'info']({ status, ...exit, durationMs }, 'script ended');
      this.#metrics.observe(call.kind, call.plugin.name, status, durationMs);
    }
  }
}

function statusOf(end: ScriptEnd, kind: ScriptKind): ExitStatus {
  switch (end.kind) {
    case 'exited':
      if (end.code === 0) return 'success';
      if (end.code !== REFUSED || kind === 'uninstall') return 'failed';
      return kind === 'check_compat' ? 'incompatible' : 'validation_failure';
    case 'killed':
      return 'failed';
    case 'timed-out':
      return 'timed_out';
    case 'not-found':
    case 'not-executable':
      return 'not_started';
    default:
      return end satisfies never;
  }
}

const exitOf = (end: ScriptEnd) =>
  end.kind === 'exited' ? { exitCode: end.code } : end.kind === 'killed' ? { signal: end.signal } : {};

function outcomeOf(result: ScriptResult, script: HostedScript): ScriptOutcome {
  const { end, stdout: lines } = result;
  switch (end.kind) {
    case 'exited':
      if (end.code === 0) return { kind: 'ok', lines };
      if (end.code === REFUSED) return { kind: 'refused', lines };
      if (end.code === LATER) return { kind: 'later', message: laterMessage(script), ...outputOf(result) };
      return { ...exitError(script, end.code), ...outputOf(result) };
    case 'killed': {
      const number = constants.signals[end.signal as NodeJS.Signals] ?? 0;
      const message = `script ${script.path} was killed by ${end.signal}`;
      return { ...scriptError(script, 128 + number, message), ...outputOf(result) };
    }
    case 'timed-out':
      return {
        ...failed(`script ${script.path} took longer than its ${end.afterMs / 1000} s`, true),
        ...outputOf(result),
      };
    case 'not-found':
      return failed(`script ${script.path} (or its interpreter) does not exist`, false);
    case 'not-executable':
      return failed(`script ${script.path} is not executable`, false);
    default:
      return end satisfies never;
  }
}

/** The end of standard output and standard error, in this order, because standard error usually has the reason. */
function outputOf({ stdout, stderrTail }: ScriptResult): { readonly output?: string } {
  const text = lastBytes([...stdout, stderrTail.trimEnd()].join('\n').trim(), OUTPUT_BYTES);
  return text === '' ? {} : { output: text };
}

/** Statuses that operators look into. */
const FAILED: ReadonlySet<ExitStatus> = new Set(['failed', 'timed_out', 'not_started']);

const laterMessage = (script: HostedScript): string =>
  `script ${script.path} ended with exit code ${LATER}: something that it needs is missing, such as room on a disk; it is run again later`;

const failed = (message: string, started: boolean): ScriptOutcome => ({ kind: 'failed', message, started });

export const scriptError = (script: HostedScript, exitCode: number, message: string): ScriptError => ({
  kind: 'error',
  script: script.path,
  exitCode,
  message,
});

export const exitError = (script: HostedScript, exitCode: number): ScriptError =>
  scriptError(script, exitCode, `script ${script.path} ended with exit code ${exitCode}`);

// The lines that a script prints are messages for the dataset's owner.

const PREFIX = /^(basic|community):(.*)$/;

/** The prefixes `basic:` and `community:` select the list. Lines without a prefix are basic. Blank lines are dropped. */
export function splitMessages(lines: readonly string[]): Validation {
  const basic: string[] = [];
  const community: string[] = [];
  for (const line of lines) {
    const [, list, text = ''] = PREFIX.exec(line) ?? [undefined, 'basic', line];
    if (text.trim() === '') continue;
    (list === 'community' ? community : basic).push(text.trim());
  }
  return { basic, community };
}

// Counts runs of each kind of script by how they ended, and measures how long they took. Every run is counted, however it ends.

const SCRIPT_KINDS = ['import', 'check_compat', 'install_data', 'install_meta', 'uninstall'] as const;
type ScriptKind = (typeof SCRIPT_KINDS)[number];

/** `failed` is any other exit code, or a signal. */
type ExitStatus =
  | 'success'
  | 'validation_failure'
  | 'incompatible'
  | 'failed'
  | 'timed_out'
  | 'not_started'
  | 'aborted';

export class ScriptMetrics {
  readonly #metrics: Metrics;

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
    // Created in advance, so that a scrape shows them before the first script runs.
    for (const kind of SCRIPT_KINDS) {
      this.#executions(kind);
      this.#duration(kind);
    }
  }

  observe(kind: ScriptKind, plugin: string, status: ExitStatus, durationMs: number): void {
    this.#executions(kind).inc({ plugin, exit_status: status });
    this.#duration(kind).observe({ plugin }, durationMs / 1000);
  }

  #executions(kind: ScriptKind) {
    return this.#metrics.counter(`${kind}_script_executions_total`, `Runs of ${kind} scripts`, [
      'plugin',
      'exit_status',
    ]);
  }

  #duration(kind: ScriptKind) {
    return this.#metrics.histogram(`script_${kind}_duration_seconds`, `Duration of ${kind} scripts`, ['plugin']);
  }
}
