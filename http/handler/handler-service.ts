// The handler job service without the HTTP routes: it registers jobs, receives their uploads, and finds jobs and their results.

import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { HANDLER_STATUS, type JobRegistration, parseJobId } from '../../engine/model/handler-job.ts';
import type { UserId } from '../../engine/model/ids.ts';
import type { Traceparent } from '../../engine/model/traceparent.ts';
import type {
  HandlerCounter,
  HandlerJob,
  HandlerJobs,
  HandlerPlace,
  HandlerPlaces,
  HandlerRun,
  HandlerRuns,
  JobEnd,
  ReceivedPackage,
} from '../../engine/ports/handler-jobs.ts';
import { messageOf } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { callerText } from '../../engine/runtime/owner-text.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { unlessAborted } from '../../engine/runtime/wait.ts';
import { badRequest, conflict, notFound, tooMany, unavailable } from '../kernel/pipeline/errors.ts';
import { checkUploadHead, receiveUpload } from './upload-body.ts';

/** `Retry-After` when there is no free place. */
const RETRY_SECONDS = 10;
const NEVER = new AbortController().signal;

interface Started extends HandlerJob {
  readonly started: Date;
  readonly traceparent: Traceparent;
}

interface Upload {
  readonly job: Started;
  readonly run: HandlerRun;
  readonly received: ReceivedPackage;
}

interface HandlerServiceOptions {
  /** How long a job may wait for its upload. */
  readonly awaitingMs: number;
  /** Bound on the stored results of one owner. Once it is reached, the owner's uploads are refused. */
  readonly maxKeptBytes: number;
}

interface HandlerServiceParts {
  readonly jobs: HandlerJobs;
  readonly lane: () => HandlerPlaces;
  readonly runs: HandlerRuns;
  readonly metrics: { uploaded(bytes: number): void };
  readonly statistics: Pick<HandlerCounter, 'uploaded'>;
  readonly clock: Clock;
  readonly log: Logger;
}

export class HandlerService {
  readonly #options: HandlerServiceOptions;
  readonly #parts: HandlerServiceParts;
  /** Internal ids of the jobs that upload or run in this process. */
  readonly #active = new Set<string>();

  constructor(options: HandlerServiceOptions, parts: HandlerServiceParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Throws 409 while a job with this id runs. */
  async register(jobId: string, registration: JobRegistration, signal: AbortSignal): Promise<void> {
    const now = this.#parts.clock.now();
    const [created, expires] = [new Date(now), new Date(now + this.#options.awaitingMs)];
    const job = { id: randomUUID(), jobId: checkedId(jobId), registration, created, expires };
    if (!(await this.#parts.jobs.register(job, signal))) throw conflict(`job '${jobId}' is running`);
    this.#parts.log.info({ job: job.id, owner: registration.owner }, 'job registered');
  }

  /** Throws 404 when there is no such job. */
  async find(jobId: string, signal: AbortSignal): Promise<HandlerJob> {
    const id = parseJobId(jobId);
    const job = id === undefined ? undefined : await this.#parts.jobs.find(id, this.now(), signal);
    if (!job) throw notFound(`there is no job '${jobId}'`);
    return job;
  }

  now(): Date {
    return new Date(this.#parts.clock.now());
  }

  /**
   * Receives the upload of a job and waits for the job's end. `signal` aborts when the client disconnects. After the upload is
   * complete, this no longer stops the job. Everything that runs for the job belongs to the upload's trace.
   */
  async upload(
    jobId: string,
    request: IncomingMessage,
    traceparent: Traceparent,
    signal: AbortSignal,
  ): Promise<{ readonly job: HandlerJob; readonly end: JobEnd }> {
    const job = await this.find(jobId, signal);
    if (job.state !== 'awaiting')
      throw conflict(`job '${jobId}' takes no upload: its status is '${HANDLER_STATUS[job.state]}'`);
    checkUploadHead(request.headers);
    const lane = this.#parts.lane();
    const { owner } = job.registration;
    using place = lane.reserve(owner);
    if (!place) throw noPlace(lane, owner);
    await this.#demandRoom(owner, signal);
    if (this.#active.has(job.id)) throw atTheSameTime(job);
    this.#active.add(job.id);
    const started = { ...job, started: this.now(), traceparent };
    const upload = await this.#receive(started, request, signal).catch((error: unknown) => {
      this.#active.delete(job.id);
      throw error;
    });
    return { job, end: await unlessAborted(this.#hand(upload, place), signal) };
  }

  /** Running jobs are not counted, so their results may exceed the bound. */
  async #demandRoom(owner: UserId, signal: AbortSignal): Promise<void> {
    const { maxKeptBytes } = this.#options;
    const { bytes, nextExpiry } = await this.#parts.jobs.kept(owner, signal);
    if (bytes < maxKeptBytes) return;
    const waitMs = (nextExpiry?.getTime() ?? 0) - this.#parts.clock.now();
    throw tooMany(
      `results of jobs of user ${owner} take ${bytes} bytes; while they are ${maxKeptBytes} or more, no other job of theirs runs`,
      Math.max(RETRY_SECONDS, Math.ceil(waitMs / 1_000)),
    );
  }

  /** Receives the upload into the job's folder. If that fails, the job waits for another upload. */
  async #receive(job: Started, request: IncomingMessage, signal: AbortSignal): Promise<Upload> {
    const { jobs, runs, metrics, statistics, log } = this.#parts;
    // Not under the client's signal: this must happen even if the client has disconnected, because nobody else does it.
    const release = (error: unknown): Promise<void> => runs.release(job, refusalOf(error, signal), NEVER);
    const begun = await jobs.move(job.id, { to: 'uploading', started: job.started }, signal).catch(async (error) => {
      // The move may have been written in spite of the error.
      await release(error);
      throw error;
    });
    if (!begun) throw atTheSameTime(job);
    let run: HandlerRun | undefined;
    try {
      run = await runs.begin(job);
      const received = await receiveUpload(request, run.upload, signal);
      metrics.uploaded(received.bytes);
      statistics.uploaded(received.bytes);
      return { job, run, received };
    } catch (error) {
      log.info({ job: job.id, err: messageOf(error) }, 'upload refused');
      await run?.[Symbol.asyncDispose]();
      await release(error);
      throw error;
    }
  }

  async #hand({ job, run, received }: Upload, place: HandlerPlace): Promise<JobEnd> {
    try {
      // The job's folder is removed before the place is released, so that each place has its disk space.
      return await place.run(async (signal) => {
        await using _gone = run;
        return await run.run(received, signal);
      });
    } catch (error) {
      this.#parts.log.error({ job: job.id, err: error }, 'the end of the job could not be written');
      throw error;
    } finally {
      this.#active.delete(job.id);
    }
  }
}

function noPlace(lane: HandlerPlaces, owner: UserId): Error {
  const held = lane.heldBy(owner);
  const free = lane.capacity - lane.taken;
  if (held === 0 || free === 0)
    return unavailable(`all ${lane.capacity} places for jobs are taken; try again`, RETRY_SECONDS);
  return tooMany(
    `jobs of user ${owner} have ${held} of ${lane.capacity} places, and ${free} are free, which are left to others; try again`,
    RETRY_SECONDS,
  );
}

const atTheSameTime = ({ jobId }: HandlerJob): Error =>
  conflict(`job '${jobId}' got another upload or registration at the same time`);

/** Foreign errors may contain paths and addresses. Our failures have messages for clients. */
function refusalOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return `the upload was cut off: ${messageOf(signal.reason)}`;
  return callerText(error);
}

function checkedId(text: string): string {
  const id = parseJobId(text);
  if (id === undefined) throw badRequest('a job id has 1 to 128 characters, and no control characters');
  return id;
}
