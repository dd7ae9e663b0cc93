// What has to go: uploads that never came, results and records past their time, jobs of processes that died. Every
// process may run it at any time: each step can be done twice.

import { handlerPrefix } from '../../engine/model/handler-job.ts';
import type { DueHandlerJob, HandlerJobs } from '../../engine/ports/handler-jobs.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { removeListed } from '../dataset/remove-objects.ts';
import type { Statistics } from './statistics.ts';

const BATCH = 100;
const CUT_OFF = 'the job was aborted: its process was killed';

interface ExpiryParts {
  readonly jobs: HandlerJobs;
  readonly store: Pick<ObjectStore, 'list' | 'remove'>;
  readonly statistics: Pick<Statistics, 'flush'>;
  readonly historyRetentionMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

interface ExpiryReport {
  /** Jobs that ended with their process. */
  readonly cutOff: number;
  readonly results: number;
  readonly jobs: number;
}

export async function expireJobs(parts: ExpiryParts, signal: AbortSignal): Promise<ExpiryReport> {
  const { jobs, store, clock, log } = parts;
  const report = { cutOff: await endOrphans(parts, signal), results: 0, jobs: 0 };
  const now = new Date(clock.now());
  for (let due = await jobs.due(now, BATCH, signal); due.length > 0; due = await jobs.due(now, BATCH, signal))
    await removeAll(due, async (one) => {
      // The record last: it is what says that there is something to remove.
      await removeJobObjects(store, one.id, signal);
      await jobs.forget(one, signal);
      report[one.what === 'job' ? 'jobs' : 'results']++;
    });
  await parts.statistics.flush(signal);
  if (report.cutOff + report.jobs + report.results > 0) log.info(report, 'handler jobs removed');
  return report;
}

/** One that cannot be removed does not keep the others; the first failure is thrown at the end. */
async function removeAll(due: readonly DueHandlerJob[], remove: (one: DueHandlerJob) => Promise<void>): Promise<void> {
  const faults: unknown[] = [];
  for (const one of due)
    await remove(one).catch((error: unknown) => {
      faults.push(error);
    });
  if (faults.length > 0) throw faults[0];
}

async function endOrphans(
  { jobs, store, clock, log, historyRetentionMs }: ExpiryParts,
  signal: AbortSignal,
): Promise<number> {
  const now = clock.now();
  const end = { ended: new Date(now), message: CUT_OFF, expires: new Date(now + historyRetentionMs) };
  const ids = await jobs.failOrphans(end, signal);
  for (const id of ids) {
    log.warn({ job: id }, CUT_OFF);
    await removeJobObjects(store, id, signal);
  }
  return ids.length;
}

/** Removes everything that the store keeps for the job, whatever it is. */
export const removeJobObjects = (
  store: Pick<ObjectStore, 'list' | 'remove'>,
  id: string,
  signal: AbortSignal,
): Promise<void> => removeListed(store, handlerPrefix(id), () => true, signal);
