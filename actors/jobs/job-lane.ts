// Runs a handler on an engine lane with the job table as its source. Logs the end of every job once, with its event id.

import { Lane } from '../../engine/jobs/lane.ts';
import type { LaneBounds } from '../../engine/jobs/lane-options.ts';
import { type DataTypes, typeKey } from '../../engine/model/data-types.ts';
import type { LaneName } from '../../engine/model/event.ts';
import { traceIdOf } from '../../engine/model/traceparent.ts';
import type { ClaimedJob, JobFault, JobOutcome, Jobs, RecordedOutcome } from '../../engine/ports/jobs.ts';
import { Cancelled, kindOf, messageOf, transient } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import type { Random, RetryPolicy } from '../../engine/runtime/retry.ts';
import { type Clock, deadline } from '../../engine/runtime/time.ts';
import { Paused, pausableSource, type WorkPauses } from '../pauses/paused-work.ts';
import { type Attempts, beginAttempt } from './attempts.ts';
import type { Cancellations } from './cancellations.ts';
import type { Receiver } from './hand-over.ts';
import { decideOutcome, type FailedOutcome, type JobHandler } from './job-handler.ts';
import { type BlockedTypes, JobSource } from './job-source.ts';

/** The lane's part of the configuration. */
export interface LaneTuning {
  readonly inMemoryQueueSize: number;
  readonly workerCount: number;
  readonly retry: RetryPolicy;
}
export type LaneTunings = Readonly<Record<LaneName, LaneTuning>>;

export const laneBounds = ({ inMemoryQueueSize, workerCount }: LaneTuning): LaneBounds => ({
  queueSize: inMemoryQueueSize,
  workerCount,
});

interface JobLaneOptions {
  readonly handler: JobHandler;
  readonly jobs: Jobs;
  readonly types: DataTypes;
  /** Undefined for a lane that calls no plugin. */
  readonly breakers: BlockedTypes | undefined;
  /** The plugins that do not answer, also for a lane that calls none. Default: all answer. */
  readonly away?: Pick<BlockedTypes, 'blockedTypes'>;
  /** The lanes of this process, to which this one is added: they hand jobs over to each other. Default: alone. */
  readonly receivers?: Map<LaneName, Receiver>;
  /** What operators have paused. Default: nothing can be paused. */
  readonly pauses?: Pick<WorkPauses, 'inForce'> | undefined;
  /** Jobs that operators have cancelled before they started. Default: none can be cancelled. */
  readonly cancellations?: Pick<Cancellations, 'taken'> | undefined;
  /** Writes the history of datasets. Default: none is written. */
  readonly attempts?: Attempts | undefined;
  readonly tuning: LaneTuning;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly random: Random;
}

/** Fallback for LISTEN: the lane polls in case it was not notified. */
const POLL_MS = 5_000;

export function jobLane(options: JobLaneOptions): Lane<ClaimedJob, RecordedOutcome> {
  const { handler, jobs, types, breakers, away, receivers, tuning, pauses } = options;
  const source = new JobSource({
    lane: handler.lane,
    jobs,
    types,
    breakers,
    ...(away ? { away } : {}),
    ...(receivers ? { receivers } : {}),
    claimant: () => lane,
  });
  const isLanePaused = (): boolean => pauses?.inForce.find('lane', handler.lane) !== undefined;
  receivers?.set(handler.lane, { reserve: (like) => (isLanePaused() ? undefined : source.reserve(like)) });
  const lane: Lane<ClaimedJob, RecordedOutcome> = new Lane<ClaimedJob, RecordedOutcome>({
    name: handler.lane,
    clock: options.clock,
    log: options.log,
    metrics: options.metrics,
    ...laneBounds(tuning),
    pollMs: POLL_MS,
    source: pauses ? pausableSource(source, isLanePaused, (wake) => pauses.inForce.watch(wake)) : source,
    // A job that was claimed before the pause, and has not started, keeps its place in the queue.
    run: async (job, signal) => {
      if (isPaused(job, options)) return REQUEUE;
      const cancelled = options.cancellations?.taken(job);
      if (!cancelled) return runJob(job, options, signal);
      const attempt = beginAttempt(job, options.attempts);
      return attempt.end(await endCancelled(job, cancelled, options, options.log), { as: 'cancelled' });
    },
    settle: (error, job) => decideOutcome(error, job, tuning.retry, options.random),
    abandon: () => REQUEUE,
    accepts: (job) => job.lane === handler.lane,
    idOf: (job) => job.id,
    tenantOf: (job) => job.owner,
    waitedMs: (job) => job.waitedMs,
  });
  return lane;
}

const REQUEUE: JobOutcome = { kind: 'requeue', crashed: false };

/** The lane is paused or, in a lane that waits for plugins, the plugin of the job's type. */
function isPaused({ lane, type }: ClaimedJob, { pauses, breakers, types }: JobLaneOptions): boolean {
  if (!pauses) return false;
  if (pauses.inForce.find('lane', lane)) return true;
  const plugin = types.all().find((one) => typeKey(one) === type)?.plugin;
  return breakers !== undefined && plugin !== undefined && pauses.inForce.find('plugin', plugin) !== undefined;
}

/** Runs a job and returns its outcome with its record. A failure has been reported to the owner by then. Never rejects. */
export async function runJob(
  job: ClaimedJob,
  options: Omit<
    JobLaneOptions,
    'jobs' | 'types' | 'breakers' | 'away' | 'receivers' | 'pauses' | 'cancellations' | 'metrics'
  >,
  signal: AbortSignal,
): Promise<RecordedOutcome> {
  const { handler, tuning, clock } = options;
  const attempt = beginAttempt(job, options.attempts);
  const trace = job.traceparent === undefined ? {} : { trace: traceIdOf(job.traceparent) };
  const about = { lane: handler.lane, dataset: job.dataset, owner: job.owner, event: job.eventId, ...trace };
  const begun = clock.now();
  try {
    const outcome = await handler.run(job, signal);
    const ended = { ...about, ms: clock.now() - begun, outcome: outcome.kind };
    // No child logger here: creating one would cost as much as the log line.
    if (outcome.kind === 'failed' || outcome.kind === 'invalid') logFault(options.log, ended, job, outcome);
    else options.log.info(ended, 'job ended');
    return attempt.end(outcome);
  } catch (thrown) {
    const log = options.log.child(about);
    // If the signal aborted, its reason counts, whatever error the handler threw because of it.
    const error: unknown = signal.aborted ? signal.reason : thrown;
    if (error instanceof Cancelled)
      return attempt.end(await endCancelled(job, error, options, log), { as: 'cancelled' });
    const outcome = decideOutcome(error, job, tuning.retry, options.random);
    if (outcome.kind !== 'retry' && outcome.kind !== 'dead') {
      log.info({ ms: clock.now() - begun, reason: messageOf(error) }, 'job returned to the queue');
      return attempt.end(outcome, { message: messageOf(error) });
    }
    if (error instanceof Paused) {
      log.info({ ms: clock.now() - begun, reason: messageOf(error) }, 'job waits for the end of a pause');
      return attempt.end(outcome, { as: 'paused' });
    }
    const level = kindOf(error) === 'defect' ? 'error' : 'warn';
    log[level](
      { ms: clock.now() - begun, outcome: outcome.kind, attempts: job.attempts + 1, err: error },
      'job failed',
    );
    return attempt.end(await reported(job, outcome, options, log, signal));
  }
}

/** A user's invalid data are not logged as a failure. */
function logFault(log: Logger, ended: object, { attempts }: ClaimedJob, { kind, message, exitCode }: JobFault): void {
  const fields = { ...ended, reason: message, ...(exitCode === undefined ? {} : { exitCode }) };
  if (kind === 'invalid') log.info(fields, 'job ended');
  else log.warn({ ...fields, attempts: attempts + 1 }, 'job failed');
}

/** The owner does not learn who cancelled the job. */
const STOPPED = 'an operator stopped this step; it is not repeated by itself';
const REPORT_MS = 10_000;

/** A cancelled job is dead even if the report to its owner fails: it must not run again by itself. */
async function endCancelled(
  job: ClaimedJob,
  { message }: Cancelled,
  { handler, clock }: Pick<JobLaneOptions, 'handler' | 'clock'>,
  log: Logger,
): Promise<JobOutcome> {
  const about = { lane: job.lane, dataset: job.dataset, owner: job.owner, event: job.eventId };
  log.info({ ...about, job: job.id, reason: message }, 'job cancelled by an operator');
  // The job's own signal is aborted.
  using limit = deadline(clock, REPORT_MS, undefined, () => transient(`no response within ${REPORT_MS} ms`));
  try {
    // `transient`: neither the data nor the owner caused it.
    await handler.report(job, { kind: 'dead', failure: 'transient', message: STOPPED }, limit.signal);
  } catch (error) {
    log.warn({ ...about, err: messageOf(error) }, 'the outcome of a job could not be reported');
  }
  return { kind: 'dead', failure: 'rejected', message };
}

/** Resolves with the outcome once it is reported. If the report fails, the job is retried, and reports then. */
async function reported(
  job: ClaimedJob,
  outcome: FailedOutcome,
  options: Pick<JobLaneOptions, 'handler' | 'tuning'>,
  log: Logger,
  signal: AbortSignal,
): Promise<JobOutcome> {
  try {
    await options.handler.report(job, outcome, signal);
    const { forOwner: _, ...written } = outcome;
    return written;
  } catch (error) {
    log.warn({ err: messageOf(error) }, 'the outcome of a job could not be reported');
    if (kindOf(error) === 'aborted' || outcome.kind === 'retry') return decideIfAborted(error, outcome);
    return { kind: 'retry', delayMs: options.tuning.retry.baseMs, message: messageOf(error), countsAttempt: false };
  }
}

const decideIfAborted = (error: unknown, outcome: JobOutcome): JobOutcome =>
  kindOf(error) === 'aborted' ? REQUEUE : outcome;
