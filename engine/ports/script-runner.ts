// Runs one script of a plugin or of the handler service (docs/design/decisions.md#script-runner).

export interface ScriptSpec {
  /** Absolute path or a name on the child's PATH; executed directly, never by a shell. */
  readonly program: string;
  readonly args: readonly string[];
  /** Absolute path of the workspace. */
  readonly cwd: string;
  /** The whole environment of the child. */
  readonly env: Readonly<Record<string, string>>;
  /** Written to standard input, then closed; absent = closed at once. */
  readonly stdin?: Iterable<string>;
  /** From spawn; then SIGTERM to the group, 10 s later SIGKILL. */
  readonly maxDurationMs: number;
  /** Marks the child's processes, so that a process that left the group is found and killed, too. Unique per run. */
  readonly runId: string;
  /** The first lines of standard error, without their line ends, capped like standard output. */
  readonly onStderr?: (line: string) => void;
  readonly limits?: { readonly cpuSeconds?: number; readonly fileSizeBytes?: number };
}

export type ScriptEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'killed'; readonly signal: string }
  | { readonly kind: 'timed-out'; readonly afterMs: number }
  | { readonly kind: 'not-found'; readonly program: string }
  | { readonly kind: 'not-executable'; readonly program: string };

export interface ScriptResult {
  readonly end: ScriptEnd;
  /** Lines of standard output, capped (10,000 lines, 16 KiB a line, 4 MiB); when cut, the last line is a note. */
  readonly stdout: readonly string[];
  /** The last 64 KiB of standard error. */
  readonly stderrTail: string;
  readonly durationMs: number;
}

export interface ScriptRunner {
  /** Resolves when the script and every process it left behind have exited; an abort kills them and rejects `aborted`. */
  run(spec: ScriptSpec, signal: AbortSignal): Promise<ScriptResult>;
}
