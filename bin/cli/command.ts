// A command: what it says of itself (a CommandSpec of the command tree), and how it runs (arguments in, exit code out).
// Progress and errors go to stderr, results to stdout.

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

// The command tree. Its texts are phrases: no capital at the start, no period at the end.

interface Described {
  /** Shown by help, man pages and the reference. */
  readonly what: string;
}

export interface FlagOption extends Described {
  readonly type: 'boolean';
}

export type ValueOption = Described & {
  readonly type: 'string';
  /** What stands for the value, such as FILE. */
  readonly value: string;
  /** Any other value is a usage error. */
  readonly values?: readonly string[];
  /** May be given several times. */
  readonly multiple?: true;
  /** The value is a path: shells complete it. */
  readonly path?: 'file' | 'directory';
} & (
    | { readonly required: true }
    | { readonly default: string }
    /** What holds when it is not given, if that is not one value. */
    | { readonly otherwise: string }
  );

/** An option of node:util parseArgs, with what people and shells have to know about it. */
export type OptionSpec = FlagOption | ValueOption;
export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

export interface ArgumentSpec extends Described {
  readonly optional?: true;
  /** Any number of them; only the last argument. */
  readonly many?: true;
  /** Any other value is a usage error. */
  readonly values?: readonly string[];
  readonly path?: 'file' | 'directory';
}
/** By name, in order. */
export type ArgumentSpecs = Readonly<Record<string, ArgumentSpec>>;

export interface Example extends Described {
  /** The command line, without the program. */
  readonly run: string;
}

export interface CommandSpec<
  Arguments extends ArgumentSpecs = ArgumentSpecs,
  Options extends OptionSpecs = OptionSpecs,
> {
  /** One line, for lists of commands and for shell completion. */
  readonly summary: string;
  /** Paragraphs that say what the summary cannot; whole sentences. */
  readonly description?: readonly string[];
  readonly arguments: Arguments;
  readonly options: Options;
  readonly examples: readonly [Example, ...Example[]];
  /** Codes that mean more than they usually do. */
  readonly exitCodes?: Readonly<Partial<Record<ExitCode, string>>>;
  /** Runs third-party programs, which could see the environment of its start (hidden-environment.ts). */
  readonly hidesEnvironment?: true;
  /** Loads the command itself, so that help does not wait for a web server's libraries. */
  readonly load: () => Promise<Command>;
}

export interface CommandGroup {
  readonly summary: string;
  /** Subcommands by name. */
  readonly commands: Readonly<Record<string, CommandSpec>>;
}

export type CommandEntry = CommandSpec | CommandGroup;

/** Checks a spec, and keeps its literal types: the command's own arguments and values follow from them. */
export const command = <const Arguments extends ArgumentSpecs, const Options extends OptionSpecs>(
  spec: CommandSpec<Arguments, Options>,
): CommandSpec<Arguments, Options> => spec;

type Choice<Spec> = Spec extends { readonly values: readonly (infer Word extends string)[] } ? Word : string;

/** Values of options: flags are false and values undefined where they are not given and have no default. */
export type OptionValues<Options extends OptionSpecs> = {
  readonly [Name in keyof Options]: Options[Name] extends FlagOption
    ? boolean
    : Options[Name] extends { readonly multiple: true }
      ? readonly Choice<Options[Name]>[]
      : Options[Name] extends { readonly required: true } | { readonly default: string }
        ? Choice<Options[Name]>
        : Choice<Options[Name]> | undefined;
};

export type ArgumentValues<Arguments extends ArgumentSpecs> = {
  readonly [Name in keyof Arguments]: Arguments[Name] extends { readonly many: true }
    ? readonly Choice<Arguments[Name]>[]
    : Arguments[Name] extends { readonly optional: true }
      ? Choice<Arguments[Name]> | undefined
      : Choice<Arguments[Name]>;
};

export interface Command {
  readonly spec: CommandSpec;
  run(args: readonly string[], io: CommandIo): Promise<ExitCode>;
}

/** A command that services and launchers start, not people. */
export interface InternalCommand {
  run(args: readonly string[], io: CommandIo): Promise<ExitCode>;
}

// Errors of commands that are explained to the user. Explaining one loads no HTTP client and no parser.

/** The command line is invalid: exit code 2 and the usage line. */
export class UsageError extends Error {}

/** An invalid configuration: exit code 3, and the message lists every fault. */
export class ConfigurationError extends Error {}

/** Of the server, or of a proxy in front of it: what is needed is not available at the moment. */
const UNAVAILABLE: readonly number[] = [502, 503, 504];

/** The server responded with an error. The message is the server's, complete. */
export class ApiError extends Failure {
  readonly status: number;
  /** How long to wait before the next attempt; undefined if the server does not say it. */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, message: string, retryAfterMs?: number) {
    const unreachable = UNAVAILABLE.includes(status);
    super(unreachable ? 'transient' : 'rejected', message, { unreachable });
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}
