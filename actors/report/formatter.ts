// One run of the BLAST+ formatter in a folder, with a clean environment, a time limit and an output limit.

import { join } from 'node:path';
import { toolEnvironment } from '../../engine/model/report/command-line.ts';
import type { ScriptEnd, ScriptRunner, ScriptSpec } from '../../engine/ports/script-runner.ts';
import { aborted } from '../../engine/runtime/failure.ts';
import { JoinedSignal } from '../../engine/runtime/joined-signal.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { growsBeyond } from './output-limit.ts';
import { ReportFailure } from './report-failure.ts';

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

export interface FormatterRun {
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
