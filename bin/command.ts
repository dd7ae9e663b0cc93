// What a command is: parsed arguments in, exit code out. Progress and faults go to stderr, results to stdout.

/** `refusedData` is for the scripts of the sample plugins alone (plugin wire protocol). */
export const EXIT = { ok: 0, failed: 1, usage: 2, configuration: 3, unreachable: 4, refusedData: 99 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export interface CommandIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Results, for machines and pipes. */
  readonly out: (text: string) => void;
  /** Progress and faults, for people. */
  readonly err: (text: string) => void;
  /** True when stderr is a terminal. */
  readonly terminal: boolean;
  /** Aborts on SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
}

export interface Command {
  readonly name: string;
  /** One line for `longshore help`. */
  readonly summary: string;
  /** How to call it, for usage errors. */
  readonly usage: string;
  run(args: readonly string[], io: CommandIo): Promise<ExitCode>;
}
