// Runs one script of a plugin and says what its end means (plugin wire protocol, exit codes).

import { randomUUID } from 'node:crypto';
import { constants } from 'node:os';
import type { ScriptEnd, ScriptRunner } from '../../engine/ports/script-runner.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { HostedPlugin, HostedScript } from './hosted-plugins.ts';
import type { ScriptEnvironment } from './script-environment.ts';
import type { ExitStatus, ScriptKind, ScriptMetrics } from './script-metrics.ts';

const REFUSED = 99;
/** EX_TEMPFAIL of sysexits.h: a disk is full, or something else is wrong that is neither the data's nor the script's fault. */
const LATER = 75;

export interface ScriptCall {
  readonly kind: ScriptKind;
  readonly plugin: HostedPlugin;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: ScriptEnvironment;
  readonly stdin?: Iterable<string>;
  /** Bound to the call's dataset, event and target. */
  readonly log: Logger;
}

export type ScriptOutcome =
  | { readonly kind: 'ok'; readonly lines: readonly string[] }
  /** Exit code 99: the script refuses the data. */
  | { readonly kind: 'refused'; readonly lines: readonly string[] }
  | ScriptError
  /** Exit code 75: to be run again later. */
  | { readonly kind: 'later'; readonly message: string }
  /** It was not run to its end. */
  | { readonly kind: 'failed'; readonly message: string; readonly started: boolean };

/** Another exit code, or an end that breaks the rules: the script is at fault. */
export interface ScriptError {
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
    let durationMs = 0;
    try {
      const result = await this.#runner.run(
        {
          program: script.path,
          args: call.args,
          cwd: call.cwd,
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
      return outcomeOf(result.end, script, result.stdout);
    } finally {
      log.info({ status, durationMs }, 'script ended');
      this.#metrics.observe(call.kind, call.plugin.name, status, durationMs);
    }
  }
}

function statusOf(end: ScriptEnd, kind: ScriptKind): ExitStatus {
  switch (end.kind) {
    case 'exited':
      if (end.code === 0) return 'success';
      if (end.code !== REFUSED || kind === 'uninstall') return 'unknown';
      return kind === 'check_compat' ? 'incompatible' : 'validation_failure';
    case 'killed':
      return 'unknown';
    case 'timed-out':
      return 'timed_out';
    case 'not-found':
    case 'not-executable':
      return 'not_started';
    default:
      return end satisfies never;
  }
}

function outcomeOf(end: ScriptEnd, script: HostedScript, lines: readonly string[]): ScriptOutcome {
  switch (end.kind) {
    case 'exited':
      if (end.code === 0) return { kind: 'ok', lines };
      if (end.code === REFUSED) return { kind: 'refused', lines };
      if (end.code === LATER) return { kind: 'later', message: laterMessage(script) };
      return exitError(script, end.code);
    case 'killed': {
      const number = constants.signals[end.signal as NodeJS.Signals] ?? 0;
      return scriptError(script, 128 + number, `script ${script.path} was killed by ${end.signal}`);
    }
    case 'timed-out':
      return failed(`script ${script.path} took longer than its ${end.afterMs / 1000} s`, true);
    case 'not-found':
      return failed(`script ${script.path} (or its interpreter) does not exist`, false);
    case 'not-executable':
      return failed(`script ${script.path} is not executable`, false);
    default:
      return end satisfies never;
  }
}

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
