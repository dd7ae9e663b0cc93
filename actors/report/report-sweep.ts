// Removes reports that nobody has requested for a while, and what ended attempts have left in the store. Every process may run
// it at any time: each step is idempotent.

import { attemptOf, type ReportJobId, reportPrefix } from '../../engine/model/report/report-job.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type { ReportDebris, ReportExpiry } from '../../engine/ports/report-jobs.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { removeListed } from '../dataset/remove-objects.ts';

const BATCH = 100;

interface ReportSweepParts {
  readonly expiry: ReportExpiry;
  readonly store: Pick<ObjectStore, 'list' | 'remove'>;
  /** Retention after the last access. */
  readonly retentionMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

interface ReportSweepResult {
  readonly expired: number;
  /** Jobs whose leftovers were removed. */
  readonly cleaned: number;
}

/** A job that cannot be cleaned up does not block the others; the first failure is thrown at the end. */
export async function sweepReports(parts: ReportSweepParts, signal: AbortSignal): Promise<ReportSweepResult> {
  const { expiry, store, retentionMs, clock, log } = parts;
  const before = new Date(clock.now() - retentionMs);
  let expired = 0;
  for (let batch = BATCH; batch === BATCH; expired += batch) batch = await expiry.expire(before, BATCH, signal);
  let cleaned = 0;
  const faults: unknown[] = [];
  const clean = async (debris: ReportDebris): Promise<void> => {
    await removeAttempts(store, debris, signal);
    await expiry.removed(debris, signal);
    cleaned++;
  };
  for (let after: ReportJobId | undefined; ; ) {
    const batch = await expiry.debris(after, BATCH, signal);
    for (const debris of batch)
      await clean(debris).catch((error: unknown) => {
        faults.push(error);
      });
    after = batch.at(-1)?.id;
    if (batch.length < BATCH) break;
  }
  if (expired + cleaned > 0) log.info({ expired, cleaned }, 'expired reports removed');
  if (faults.length > 0) throw faults[0];
  return { expired, cleaned };
}

/** Removes the objects of all attempts up to `upTo`, and objects that belong to no attempt. */
const removeAttempts = (
  store: ReportSweepParts['store'],
  { id, upTo }: ReportDebris,
  signal: AbortSignal,
): Promise<void> => removeListed(store, reportPrefix(id), (key) => (attemptOf(id, key) ?? 0) <= upTo, signal);
