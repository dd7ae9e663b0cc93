// What a command is: parsed arguments in, exit code out. Progress and faults go to stderr, results to stdout.

import type { Keyboard } from './terminal/keyboard.ts';
import type { Terminal } from './terminal/terminal.ts';

/** `later` and `refusedData` are for the scripts of the sample plugins alone (plugin wire protocol). */
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
  /** Progress and faults, for people. */
  readonly err: (text: string) => void;
  /** Standard output when it is a terminal: tables fit it. */
  readonly outTerminal?: Terminal | undefined;
  /** Standard error when it is a terminal: progress is drawn on it. */
  readonly errTerminal?: Terminal | undefined;
  /** Keys as they are pressed; undefined where standard input is no terminal. Asked for by who needs it: it is opened then. */
  readonly keyboard?: () => Keyboard | undefined;
  /** Aborts on SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
}

/** An option as node:util parseArgs takes it, and what may be given to it. */
export interface CommandOption {
  readonly type: 'string' | 'boolean';
  readonly multiple?: boolean;
  readonly default?: string | boolean;
  /** Anything else is a usage error. */
  readonly values?: readonly string[];
  /** Names of the file system may be given: shells complete them. */
  readonly path?: 'file' | 'directory';
}
export type CommandOptions = Readonly<Record<string, CommandOption>>;

export interface Command {
  readonly name: string;
  /** How to call it, for usage errors. */
  readonly usage: string;
  readonly options: CommandOptions;
  /** What its first argument may be, when it is one of a few words. */
  readonly words?: readonly string[];
  /** Its arguments may be files: shells complete them. */
  readonly files?: boolean;
  run(args: readonly string[], io: CommandIo): Promise<ExitCode>;
}
