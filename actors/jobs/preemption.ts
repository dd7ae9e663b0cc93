// Preempts work that is no longer needed. While a dataset waits to be deleted or superseded, its running import, install or
// update of metadata goes back to the queue, behind the soft delete. When it is claimed again, it finds nothing to do. An
// upload is not preempted: it calls no plugin, is short, and an undelete needs its result.

import type { LaneName } from '../../engine/model/event.ts';
import type { Jobs } from '../../engine/ports/jobs.ts';
import type { Child } from '../../engine/runtime/child.ts';
import { aborted } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import type { Random } from '../../engine/runtime/retry.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { Timer } from '../../engine/runtime/timer.ts';
import type { LeaseHolder } from './lease-renewer.ts';

export interface PreemptionOptions {
  readonly jobs: Pick<Jobs, 'overtaken'>;
  /** The lanes of this process. */
  readonly holders: readonly LeaseHolder[];
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly random: Random;
}

const PERIOD_MS = 10_000;
const PREEMPTED_LANES: readonly LaneName[] = ['import', 'updateMeta', 'install'];

export function preemption({ jobs, holders, clock, log, metrics, random }: PreemptionOptions): Child {
  const stopOvertaken = async (signal: AbortSignal): Promise<number> => {
    const held = holders.flatMap((holder) => holder.held().map((job) => ({ job, holder })));
    const running = held.filter(({ job }) => PREEMPTED_LANES.includes(job.lane));
    if (running.length === 0) return 0;
    const datasets = running.map(({ job }) => job.dataset);
    const overtaken = new Set(await jobs.overtaken(datasets, signal));
    let stopped = 0;
    for (const { job, holder } of running) {
      if (!overtaken.has(job.dataset)) continue;
      if (!holder.abortJob(job.id, aborted(`dataset ${job.dataset} is waiting to be deleted`))) continue;
      stopped++;
      log.info({ lane: job.lane, dataset: job.dataset, event: job.eventId }, 'job preempted by a soft delete');
    }
    return stopped;
  };
  return new Timer<number>({
    name: 'preemption',
    clock,
    log,
    metrics,
    random,
    periodMs: PERIOD_MS,
    runOnce: stopOvertaken,
  });
}
