// One handler job from its upload to its end: unpack, run the commands, keep the result. Whatever happens, the record
// says how it ended; only a killed process leaves that to the next one that looks.

import { rm } from 'node:fs/promises';
import type { ArchiveLimits } from '../../engine/archive/archive-limits.ts';
import { handlerResultKey } from '../../engine/model/handler-job.ts';
import { traceIdOf } from '../../engine/model/traceparent.ts';
import type {
  HandlerJobs,
  HandlerMove,
  HandlerRun,
  HandlerRuns,
  JobEnd,
  ReceivedPackage,
  StartedJob,
} from '../../engine/ports/handler-jobs.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type { ScriptRunner } from '../../engine/ports/script-runner.ts';
import { aborted, defect, Failure, kindOf, messageOf } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { callerText } from '../../engine/runtime/owner-text.ts';
import { RETRIES, retrying } from '../../engine/runtime/retry.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { unlessAborted } from '../../engine/runtime/wait.ts';
import type { Archives } from '../tasks/archives.ts';
import { type HandlerCommand, runCommands, UserError } from './commands.ts';
import { removeJobObjects } from './expiry.ts';
import { collectOutput, JobFolder, OUTPUT_FOLDER, topLevel } from './job-files.ts';
import type { JobMetrics, JobOutcome, Statistics } from './statistics.ts';

export interface JobRunOptions {
  /** Holds the folders of the jobs. */
  readonly workDir: string;
  readonly commands: readonly HandlerCommand[];
  readonly environment: Readonly<Record<string, string>>;
  readonly maxUnpackedBytes: number;
  /** What unpacking may cost. */
  readonly archives: Pick<ArchiveLimits, 'maxEntries' | 'maxNameBytes' | 'maxMs'>;
  /** That a job may wait for its upload. */
  readonly awaitingMs: number;
  readonly resultRetentionMs: number;
  readonly historyRetentionMs: number;
  /** Of datasets that are packed here. */
  readonly type: { readonly name: string; readonly version: string };
}

interface JobRunParts {
  readonly jobs: HandlerJobs;
  readonly store: ObjectStore;
  readonly runner: ScriptRunner;
  readonly packages: Archives;
  readonly metrics: JobMetrics;
  readonly statistics: Statistics;
  readonly clock: Clock;
  readonly log: Logger;
}

/** For the last writes of a job that is cut off by the end of the process. */
const CUT_OFF_MS = 1_500;

/** The upload breaks the rules for archives. */
class Unusable extends Failure {
  constructor(message: string) {
    super('rejected', message);
    this.name = 'Unusable';
  }
}

export class JobRuns implements HandlerRuns {
  readonly #options: JobRunOptions;
  readonly #parts: JobRunParts;

  constructor(options: JobRunOptions, parts: JobRunParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Resolves with how the job ended once nothing of it runs any more; rejects when that could not be written. */
  async begin(job: StartedJob): Promise<HandlerRun> {
    const folder = await JobFolder.make(this.#options.workDir, job.id);
    return {
      upload: folder.upload,
      run: (received, signal) => this.#run(job, received, folder, signal),
      [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
    };
  }

  async #run(job: StartedJob, received: ReceivedPackage, folder: JobFolder, signal: AbortSignal): Promise<JobEnd> {
    const { clock, metrics, statistics } = this.#parts;
    const log = this.#parts.log.child({
      job: job.id,
      owner: job.registration.owner,
      trace: traceIdOf(job.traceparent),
    });
    const begun = clock.now();
    const steps = this.#steps(job, received, folder, log, signal);
    let end: JobEnd;
    try {
      // At the end of the process the record must not wait for commands that take their time to end.
      end = await unlessAborted(steps, signal);
    } catch (error) {
      end = endOf(signal.aborted ? defect(`the job was cut off: ${messageOf(signal.reason)}`) : error);
      await this.#fail(job, end, signal);
      const level = kindOf(error) === 'defect' || end.kind === 'failed' ? 'warn' : 'info';
      log[level]({ end: end.kind, err: error }, 'job did not complete');
    }
    await steps.catch(() => undefined);
    const ms = clock.now() - begun;
    metrics.ended(OUTCOMES[end.kind], ms);
    statistics.ran(ms);
    log.info({ end: end.kind, ms }, 'job ended');
    return end;
  }

  /** The job gets no further now, and waits for another upload. */
  async release(job: Pick<StartedJob, 'id'>, message: string, signal: AbortSignal): Promise<void> {
    const expires = new Date(this.#parts.clock.now() + this.#options.awaitingMs);
    await this.#write(job, { to: 'awaiting', message, expires }, signal);
  }

  async #steps(
    job: StartedJob,
    { kind, bytes: size }: ReceivedPackage,
    folder: JobFolder,
    log: Logger,
    signal: AbortSignal,
  ): Promise<JobEnd> {
    signal.throwIfAborted();
    const { runner, packages, metrics, store, clock } = this.#parts;
    const { commands, environment, maxUnpackedBytes, archives, type } = this.#options;
    await this.#advance(job, { to: 'unpacking', size }, signal);
    const limits = { maxTotalBytes: maxUnpackedBytes, maxFileBytes: maxUnpackedBytes, ...archives };
    const { notes } = await packages
      .unpack({ file: folder.upload, kind, dir: folder.files, limits, reserved: OUTPUT_FOLDER }, signal)
      .catch((error: unknown) => {
        throw kindOf(error) === 'rejected' ? new Unusable(messageOf(error)) : error;
      });
    await rm(folder.upload);
    const inputFiles = await topLevel(folder.files);
    await this.#advance(job, { to: 'processing' }, signal);
    const { registration, started } = job;
    const values = { cwd: folder.files, started, registration, inputFiles };
    const env = { ...environment, TMPDIR: folder.tmp, TRACEPARENT: job.traceparent };
    await runCommands(commands, { id: job.id, values, env, log }, { runner, metrics }, signal);
    const output = await collectOutput(folder, inputFiles, { registration, started, size, type }, packages, signal);
    const said = [...notes, ...output.notes];
    // Before the put, which may move the file into the store.
    const sha256 = await packages.sha256(output.file, signal);
    const { size: bytes, etag } = await store.put(handlerResultKey(job.id), { file: output.file }, {}, signal);
    const stored = { fileName: output.fileName, bytes, digest: { etag, sha256 } };
    const ended = clock.now();
    const move = {
      to: 'completed',
      ended: new Date(ended),
      result: { ...stored, expires: new Date(ended + this.#options.resultRetentionMs) },
      expires: new Date(ended + this.#options.historyRetentionMs),
      ...(said.length > 0 ? { message: said.join('; ') } : {}),
    } as const;
    await this.#advance(job, move, signal);
    return { kind: 'completed', ...stored };
  }

  async #fail(job: StartedJob, end: JobEnd, signal: AbortSignal): Promise<void> {
    if (end.kind === 'completed') return;
    if (end.kind === 'refused') return this.release(job, end.message, signal);
    const ended = this.#parts.clock.now();
    const expires = new Date(ended + this.#options.historyRetentionMs);
    await this.#write(job, { to: 'failed', ended: new Date(ended), message: end.message, expires }, signal);
  }

  async #advance(job: StartedJob, move: HandlerMove, signal: AbortSignal): Promise<void> {
    const { jobs, clock } = this.#parts;
    let unsure = false;
    const attempt = async (until: AbortSignal): Promise<boolean> => {
      try {
        if (await this.#move(job, move, until)) return true;
        // A try that failed may have been written all the same.
        return unsure && (await jobs.find(job.jobId, new Date(clock.now()), until))?.state === move.to;
      } catch (error) {
        unsure = true;
        throw error;
      }
    };
    if (!(await retrying(RETRIES.handlerRecord, clock, attempt, signal)))
      throw defect(`job ${job.id} is no longer this process's: another one took it for dead`);
  }

  /** Goes on for a moment when the signal has aborted: it is about the end of the job. */
  async #write(job: Pick<StartedJob, 'id'>, move: HandlerMove, signal: AbortSignal): Promise<void> {
    const { clock, log, store } = this.#parts;
    const over = new AbortController();
    using cleanup = new DisposableStack();
    const cut = (): void => {
      const late = (): void => over.abort(aborted('the process ends'));
      cleanup.defer(clock.after(CUT_OFF_MS, late));
    };
    if (signal.aborted) cut();
    else signal.addEventListener('abort', cut, { once: true });
    cleanup.defer(() => signal.removeEventListener('abort', cut));
    const moved = await retrying(RETRIES.handlerRecord, clock, (until) => this.#move(job, move, until), over.signal);
    if (!moved) log.warn({ job: job.id, to: move.to }, 'the job is already in another state');
    // A result may have been kept before its record failed; what stays goes when the record does.
    else await removeJobObjects(store, job.id, over.signal).catch(() => undefined);
  }

  #move(job: Pick<StartedJob, 'id'>, move: HandlerMove, signal: AbortSignal): Promise<boolean> {
    return this.#parts.jobs.move(job.id, move, signal);
  }
}

const OUTCOMES = {
  completed: 'completed',
  refused: 'refused',
  'user-error': 'user_error',
  failed: 'failed',
} as const satisfies Record<JobEnd['kind'], JobOutcome>;

function endOf(error: unknown): Exclude<JobEnd, { kind: 'completed' }> {
  if (error instanceof Unusable) return { kind: 'refused', message: error.message };
  if (error instanceof UserError) return { kind: 'user-error', message: error.message };
  // Foreign errors may name paths and addresses; ours are written to be read.
  return {
    kind: 'failed',
    message: callerText(error),
  };
}
