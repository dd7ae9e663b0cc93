// One run of the BLAST+ formatter in a folder, with a clean environment, a time limit and an output limit.

import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { toolEnvironment } from '../../engine/model/report/command-line.ts';
import type { ScriptEnd, ScriptRunner, ScriptSpec } from '../../engine/ports/script-runner.ts';
import { aborted, Failure } from '../../engine/runtime/failure.ts';
import { JoinedSignal } from '../../engine/runtime/joined-signal.ts';
import type { Clock } from '../../engine/runtime/time.ts';

export const FORMATTER = 'blast_formatter';
/** How many last lines of stderr are kept in case the run is stopped for its output. */
const SAID_LINES = 100;

export interface FormatterOptions {
  /** Directory of the programs. Undefined: searched on the PATH. */
  readonly blastBin?: string | undefined;
  /** The child's PATH. */
  readonly path: string;
  /** Where databases are searched (BLASTDB). */
  readonly searchPath: readonly string[];
  readonly maxDurationMs: number;
  /** Sum over all files. */
  readonly maxOutputBytes: number;
}

interface FormatterRun {
  /** Unique. */
  readonly runId: string;
  readonly args: readonly string[];
  /** Contains the input, and receives the output. */
  readonly work: string;
  /** Name of the input file: not counted as output. */
  readonly archive: string;
  readonly home: string;
}

export class Formatter {
  readonly #options: FormatterOptions;
  readonly #runner: ScriptRunner;
  readonly #clock: Clock;

  constructor(options: FormatterOptions, runner: ScriptRunner, clock: Clock) {
    this.#options = options;
    this.#runner = runner;
    this.#clock = clock;
  }

  /** Resolves with the end of stderr once the output is complete. Any other end throws a {@link ReportFailure}. */
  async run(run: FormatterRun, signal: AbortSignal): Promise<string> {
    const { maxOutputBytes: maxBytes } = this.#options;
    const said: string[] = [];
    const onStderr = (line: string): void => {
      if (said.push(line) > SAID_LINES) said.shift();
    };
    using limited = new JoinedSignal(signal);
    const over = new AbortController();
    let large = false;
    const watch = growsBeyond({ dir: run.work, except: run.archive, maxBytes }, this.#clock, over.signal).then(
      (beyond) => {
        large = beyond;
        if (beyond) limited.abort(aborted(`more than ${maxBytes} bytes`));
      },
    );
    // Its error is thrown by the await below.
    watch.catch(() => undefined);
    try {
      const { end, stderrTail } = await this.#runner.run(this.#spec(run, onStderr), limited.signal);
      if (end.kind === 'exited' && end.code === 0) return stderrTail;
      throw new ReportFailure(this.#reason(end), stderrTail);
    } catch (error) {
      if (!large || signal.aborted) throw error;
      throw new ReportFailure(tooLarge(maxBytes), said.map((line) => `${line}\n`).join(''));
    } finally {
      over.abort();
      await watch;
    }
  }

  #spec({ runId, args, work, home }: FormatterRun, onStderr: (line: string) => void): ScriptSpec {
    const { blastBin, path, searchPath, maxDurationMs, maxOutputBytes } = this.#options;
    return {
      program: blastBin === undefined ? FORMATTER : join(blastBin, FORMATTER),
      args,
      cwd: work,
      env: toolEnvironment({ path, home, searchPath }),
      maxDurationMs,
      runId,
      onStderr,
      limits: { fileSizeBytes: maxOutputBytes },
    };
  }

  #reason(end: ScriptEnd): string {
    switch (end.kind) {
      case 'exited':
        return `${FORMATTER} ended with exit code ${end.code}`;
      case 'killed':
        return end.signal === 'SIGXFSZ'
          ? tooLarge(this.#options.maxOutputBytes)
          : `${FORMATTER} was killed by ${end.signal}`;
      case 'timed-out':
        return `${FORMATTER} took longer than the ${end.afterMs / 1000} s allowed`;
      case 'not-found':
        return `${FORMATTER} is not installed`;
      case 'not-executable':
        return `${FORMATTER} is not executable`;
      default:
        return end satisfies never;
    }
  }
}

export const tooLarge = (maxBytes: number): string => `the report is larger than the ${maxBytes} bytes allowed`;

// Total bytes in a folder while a program writes there. The system limits each single file; this limits their sum.

const LOOK_MS = 500;

/** Sums the plain files directly in the folder, except one. A file that has disappeared counts as zero. */
async function bytesIn(dir: string, except: string): Promise<number> {
  let bytes = 0;
  for await (const { name } of await opendir(dir)) {
    if (name === except) continue;
    const found = await lstat(join(dir, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (found?.isFile()) bytes += found.size;
  }
  return bytes;
}

/** True once the files exceed `maxBytes`; false if the signal aborts first. */
async function growsBeyond(
  { dir, except, maxBytes }: { readonly dir: string; readonly except: string; readonly maxBytes: number },
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  for (;;) {
    await clock.sleep(LOOK_MS, signal).catch(() => undefined);
    if (signal.aborted) return false;
    if ((await bytesIn(dir, except)) > maxBytes) return true;
  }
}

/** Why a report cannot be made, phrased for the user, together with the formatter's stderr up to then. */
export class ReportFailure extends Failure {
  /** The end of the formatter's stderr. */
  readonly stderr: string;

  constructor(message: string, stderr = '', cause?: unknown) {
    super('rejected', message, cause === undefined ? {} : { cause });
    this.name = 'ReportFailure';
    this.stderr = stderr;
  }
}

/** The stderr, with the reason as its last line. */
export const withReason = (stderr: string, reason: string): string =>
  `${stderr === '' || stderr.endsWith('\n') ? stderr : `${stderr}\n`}${reason}\n`;

export const oneLine = (text: string): string => text.trim().replace(/\s*[\r\n]+\s*/g, ' ');

/** Hides local paths: readers of a report must not learn this machine's directory layout. */
export function withoutPaths(text: string, names: Readonly<Record<string, string>>): string {
  const longestFirst = Object.keys(names).sort((a, b) => b.length - a.length);
  return longestFirst.reduce(
    (rest, path) => (path.length > 1 ? rest.replaceAll(path, `[${names[path]}]`) : rest),
    text,
  );
}
