// The handler job service apart from HTTP's words: registers jobs, takes their uploads, knows what became of them.

import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { HANDLER_STATUS, type JobRegistration, parseJobId } from '../../engine/model/handler-job.ts';
import type { UserId } from '../../engine/model/ids.ts';
import type { Traceparent } from '../../engine/model/traceparent.ts';
import type { HandlerJob, HandlerJobs } from '../../engine/ports/handler-jobs.ts';
import type {
  HandlerCounter,
  HandlerPlace,
  HandlerPlaces,
  HandlerRun,
  HandlerRuns,
  JobEnd,
  ReceivedPackage,
} from '../../engine/ports/handler-runs.ts';
import { Failure, messageOf } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { publicMessage } from '../../engine/runtime/public-message.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { unlessAborted } from '../../engine/runtime/wait.ts';
import { badRequest, conflict, notFound, tooMany, unavailable } from '../kernel/pipeline/errors.ts';
import { checkUploadHead, receiveUpload } from './upload-body.ts';

/** How long somebody should wait who was refused for want of a place. */
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

export interface HandlerServiceOptions {
  /** That a job may wait for its upload. */
  readonly awaitingMs: number;
  /** Results of one owner; while there are as many, the owner's uploads are refused. */
  readonly maxKeptBytes: number;
}

export interface HandlerServiceParts {
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
  /** Internal ids of the jobs whose uploads or runs are in this process. */
  readonly #active = new Set<string>();

  constructor(options: HandlerServiceOptions, parts: HandlerServiceParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** 409 while a job runs under the id. */
  async register(jobId: string, registration: JobRegistration, signal: AbortSignal): Promise<void> {
    const now = this.#parts.clock.now();
    const [created, expires] = [new Date(now), new Date(now + this.#options.awaitingMs)];
    const job = { id: randomUUID(), jobId: checkedId(jobId), registration, created, expires };
    if (!(await this.#parts.jobs.register(job, signal))) throw conflict(`job '${jobId}' is running`);
    this.#parts.log.info({ job: job.id, owner: registration.owner }, 'job registered');
  }

  /** 404 when there is none. */
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
   * Takes the upload of a job and waits for its end. The signal is that of the client: once the upload is here, the job
   * goes on without it. What runs for the job is of the upload's trace.
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

  /** What runs already is not counted: its results may come beyond the bound. */
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

  /** The upload in the job's folder; when it cannot be had, the job waits for another. */
  async #receive(job: Started, request: IncomingMessage, signal: AbortSignal): Promise<Upload> {
    const { jobs, runs, metrics, statistics, log } = this.#parts;
    // Not under the client's signal: nobody else can say that the job waits again.
    const release = (error: unknown): Promise<void> => runs.release(job, refusalOf(error, signal), NEVER);
    const begun = await jobs.move(job.id, { to: 'uploading', started: job.started }, signal).catch(async (error) => {
      // It may have been written all the same.
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
      // The place is free when the disk is.
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

/** Foreign errors may name paths and addresses; ours are written to be read. */
function refusalOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return `the upload was cut off: ${messageOf(signal.reason)}`;
  return error instanceof Failure ? publicMessage(error) : 'an internal error; see the log';
}

function checkedId(text: string): string {
  const id = parseJobId(text);
  if (id === undefined) throw badRequest('a job id has 1 to 128 characters, and no control characters');
  return id;
}
