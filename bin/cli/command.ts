// The interface of a command: parsed arguments in, exit code out. Progress and errors go to stderr, results to stdout.

import { Failure } from '../../engine/runtime/failure.ts';
import type { Keyboard, Terminal } from './terminal/terminal.ts';

/** `later` and `refusedData` are only for the scripts of the sample plugins (plugin wire protocol). */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  configuration: 3,
  unreachable: 4,
  later: 75,
  refusedData: 99,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export interface CommandIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Results, for machines and pipes. */
  readonly out: (text: string) => void;
  /** Progress and errors, for people. */
  readonly err: (text: string) => void;
  /** Standard output if it is a terminal: tables are fitted to it. */
  readonly outTerminal?: Terminal | undefined;
  /** Standard error if it is a terminal: progress is drawn on it. */
  readonly errTerminal?: Terminal | undefined;
  /** Opens the keyboard. Returns undefined if standard input is not a terminal. Call it only when keys are needed. */
  readonly keyboard?: () => Keyboard | undefined;
  /** Aborts on SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
}

/** An option of node:util parseArgs, with the values that are allowed. */
export interface CommandOption {
  readonly type: 'string' | 'boolean';
  readonly multiple?: boolean;
  readonly default?: string | boolean;
  /** Any other value is a usage error. */
  readonly values?: readonly string[];
  /** The value is a path: shells complete it. */
  readonly path?: 'file' | 'directory';
}
export type CommandOptions = Readonly<Record<string, CommandOption>>;

export interface Command {
  readonly name: string;
  /** Synopsis for usage errors. */
  readonly usage: string;
  readonly options: CommandOptions;
  /** Allowed values of the first argument, if it is a keyword. */
  readonly words?: readonly string[];
  /** Arguments may be files: shells complete them. */
  readonly files?: boolean;
  run(args: readonly string[], io: CommandIo): Promise<ExitCode>;
}

// Errors of commands that are explained to the user. Explaining one loads no HTTP client and no parser.

/** The command line is invalid: exit code 2 and the usage line. */
export class UsageError extends Error {}

/** An invalid configuration: exit code 3, and the message lists every fault. */
export class ConfigurationError extends Error {}

/** The server responded with an error. The message is the server's, complete. */
export class ApiError extends Failure {
  readonly status: number;

  constructor(status: number, message: string) {
    super('rejected', message);
    this.status = status;
  }
}
