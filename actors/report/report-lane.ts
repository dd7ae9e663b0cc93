// Runs report jobs on an engine lane with their queue as its source. Logs the end of every job once, with its id.

import { Lane } from '../../engine/jobs/lane.ts';
import { traceIdOf } from '../../engine/model/traceparent.ts';
import type { ReportClaim, ReportOutcome, ReportQueue } from '../../engine/ports/report-jobs.ts';
import { aborted, kindOf } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import { ownerText } from '../../engine/runtime/owner-text.ts';
import { afterFailure, type Random, RETRIES } from '../../engine/runtime/retry.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { TenantSource } from '../jobs/tenant-source.ts';
import { pausableSource } from '../pauses/paused-work.ts';
import type { PausesInForce } from '../pauses/pauses-in-force.ts';
import { oneLine, ReportFailure, withReason } from './formatter.ts';
import type { ReportRun } from './report-run.ts';

interface ReportLaneOptions {
  readonly queue: ReportQueue;
  readonly run: Pick<ReportRun, 'run'>;
  /** What operators have paused. Default: nothing can be paused. */
  readonly pauses?: Pick<PausesInForce, 'find' | 'watch'>;
  /** Jobs that wait in memory, and jobs processed at once. */
  readonly queueSize: number;
  readonly workerCount: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly random: Random;
}

export type ReportLane = Lane<ReportClaim, ReportOutcome>;

export const REPORT_LANE = 'report';
/** The net under LISTEN, and how soon the job of a process that died is seen. */
const POLL_MS = 5_000;

export function reportLane(options: ReportLaneOptions): ReportLane {
  const { queue, pauses, clock, log, metrics, queueSize, workerCount } = options;
  const isPaused = (): boolean => pauses?.find('lane', REPORT_LANE) !== undefined;
  const source = new TenantSource<ReportClaim, ReportOutcome>({ queue, clock, claimant: () => lane });
  const lane: ReportLane = new Lane<ReportClaim, ReportOutcome>({
    name: REPORT_LANE,
    ...{ clock, log, metrics, queueSize, workerCount },
    pollMs: POLL_MS,
    source: pauses ? pausableSource(source, isPaused, (wake) => pauses.watch(wake)) : source,
    // A job that was claimed before the pause, and has not started, goes back.
    run: async (claim, signal) => (isPaused() ? again(clock, 0, false) : runReport(claim, options, signal)),
    settle: (error, claim) => outcomeOf(error, claim, options),
    abandon: () => again(options.clock, 0, false),
    idOf: ({ id }) => id,
    tenantOf: ({ tenant }) => tenant,
    waitedMs: ({ waitedMs }) => waitedMs,
  });
  return lane;
}

/** The job's outcome, whatever happened. Never rejects. */
export async function runReport(
  claim: ReportClaim,
  options: Pick<ReportLaneOptions, 'run' | 'clock' | 'log' | 'random'>,
  signal: AbortSignal,
): Promise<ReportOutcome> {
  const { run, clock } = options;
  const { id: report, queryId: query, attempt, traceparent } = claim;
  const trace = traceparent && { trace: traceIdOf(traceparent) };
  const log = options.log.child({ lane: REPORT_LANE, report, query, attempt, ...trace });
  const begun = clock.now();
  try {
    const outcome = await run.run(claim, signal);
    log.info({ ms: clock.now() - begun, outcome: outcome.kind }, 'report complete');
    return outcome;
  } catch (thrown) {
    // If the signal aborted, that is the reason, whatever error the run made of it.
    const error: unknown = signal.aborted ? signal.reason : thrown;
    const outcome = outcomeOf(error, claim, options);
    const level = kindOf(error) === 'defect' ? 'error' : outcome.kind === 'failed' ? 'warn' : 'info';
    log[level](
      { ms: clock.now() - begun, outcome: outcome.kind, attempts: claim.attempts, err: error },
      'report attempt failed',
    );
    return outcome;
  }
}

/** The outcome of a job whose run threw. */
function outcomeOf(
  error: unknown,
  claim: Pick<ReportClaim, 'attempts'>,
  { clock, random }: Pick<ReportLaneOptions, 'clock' | 'random'>,
): ReportOutcome {
  if (kindOf(error) === 'aborted') return again(clock, 0, false);
  const next = afterFailure(RETRIES.report, claim.attempts, error, random);
  if (next.kind === 'again') return again(clock, next.delayMs, next.countsAttempt);
  const reason = oneLine(ownerText(error));
  const stderr = withReason(error instanceof ReportFailure ? error.stderr : '', reason);
  return { kind: 'failed', ended: new Date(clock.now()), reason, stderr };
}

const again = (clock: Clock, delayMs: number, countsAttempt: boolean): ReportOutcome => ({
  kind: 'again',
  from: new Date(clock.now() + delayMs),
  countsAttempt,
});

/** Renews the leases of the lane's jobs and aborts the runs whose lease is lost. Call it every 10 s. */
export async function renewReports(
  lane: Pick<ReportLane, 'held' | 'abortJob'>,
  queue: Pick<ReportQueue, 'renew'>,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  for (const { id, attempt } of await queue.renew(lane.held(), signal)) {
    // Its outcome may have been written in the meantime, which ends the lease.
    if (!lane.held().some((one) => one.id === id && one.attempt === attempt)) continue;
    log.warn({ report: id, attempt }, 'lease of a running report lost');
    lane.abortJob(id, aborted(`lease of report ${id} lost`));
  }
}
