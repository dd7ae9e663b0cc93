// What is removed from time to time: uploads whose process crashed, old weeks of the audit trail, old history and events of
// datasets, and expired idempotency keys.

import { datasetPrefix } from '../../engine/model/object-key.ts';
import type { AuditLog } from '../../engine/ports/audit-log.ts';
import type { DatasetEvents } from '../../engine/ports/dataset-events.ts';
import type { IdempotencyKeys } from '../../engine/ports/idempotency-keys.ts';
import type { JobHistory } from '../../engine/ports/job-history.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type { ResumableUploads, UploadBytes } from '../../engine/ports/resumable-uploads.ts';
import type { Uploads } from '../../engine/ports/uploads.ts';
import type { WebhookDeliveries } from '../../engine/ports/webhooks.ts';
import type { LiveSetting } from '../../engine/runtime/live-setting.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { Timer, type TimerParts } from '../../engine/runtime/timer.ts';
import { removeListed } from '../dataset/remove-objects.ts';

// The upload sweep cleans up after uploads whose process crashed before the 202. It removes the objects first, then the row,
// which releases the reserved quota.

/** Returns how many uploads were swept. */
export async function sweepUploads(
  ports: { readonly uploads: Uploads; readonly store: ObjectStore },
  log: Logger,
  signal: AbortSignal,
): Promise<number> {
  const orphans = await ports.uploads.orphans(signal);
  for (const at of orphans) {
    await removeListed(ports.store, datasetPrefix(at), () => true, signal);
    await ports.uploads.abandon(at.dataset, signal);
    log.info({ dataset: at.dataset, owner: at.owner }, 'upload of a crashed process removed');
  }
  return orphans.length;
}

// Removes resumable uploads that have expired, were terminated, or became part of a dataset: first the bytes, then the row.

interface ResumableSweepParts {
  readonly resumable: Pick<ResumableUploads, 'leftovers' | 'forget'>;
  readonly bytes: Pick<UploadBytes, 'remove'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Returns how many were removed. A failure does not keep the others from being removed. */
export async function sweepResumable(
  { resumable, bytes, clock, log }: ResumableSweepParts,
  signal: AbortSignal,
): Promise<number> {
  let removed = 0;
  for (const upload of await resumable.leftovers(clock.now(), signal)) {
    try {
      await bytes.remove(upload, signal);
      await resumable.forget(upload, signal);
      removed++;
    } catch (err) {
      signal.throwIfAborted();
      log.warn({ err, upload }, 'a resumable upload could not be removed; the next sweep retries it');
    }
  }
  if (removed > 0) log.info({ uploads: removed }, 'used, terminated or expired resumable uploads removed');
  return removed;
}

// Drops weekly partitions of the audit trail, entries of the history, and events once their retention is over. Every process runs
// this; each row is dropped only once.

interface RetentionOptions extends TimerParts {
  readonly name: string;
  readonly rows: { dropBefore(at: number, signal: AbortSignal): Promise<number> };
  readonly retentionMs: () => number;
  readonly dropped: (count: number) => void;
}

const PERIOD_MS = 3_600_000;
/** Not at startup, when everything else needs the database. */
const FIRST_MS = 60_000;

/** A run returns how many were dropped. */
const retention = ({ rows, retentionMs, dropped, ...parts }: RetentionOptions): Timer<number> =>
  new Timer({
    ...parts,
    periodMs: PERIOD_MS,
    firstMs: FIRST_MS,
    runOnce: async (signal) => {
      const count = await rows.dropBefore(parts.clock.now() - retentionMs(), signal);
      if (count > 0) dropped(count);
      return count;
    },
  });

interface AuditRetentionOptions extends TimerParts {
  readonly audit: Pick<AuditLog, 'dropBefore'>;
  readonly retentionMs: number;
}

export const auditRetention = ({ audit, retentionMs, ...parts }: AuditRetentionOptions): Timer<number> =>
  retention({
    ...parts,
    name: 'auditRetention',
    rows: audit,
    retentionMs: () => retentionMs,
    dropped: (weeks) => parts.log.info({ weeks }, 'old weekly partitions of the audit trail dropped'),
  });

interface HistoryRetentionOptions extends TimerParts {
  readonly history: Pick<JobHistory, 'dropBefore'>;
  readonly datasetEvents: Pick<DatasetEvents, 'dropBefore'>;
  readonly retentionMs: LiveSetting<number>;
}

export const historyRetention = ({
  history,
  datasetEvents,
  retentionMs,
  ...parts
}: HistoryRetentionOptions): Timer<number> =>
  retention({
    ...parts,
    name: 'historyRetention',
    rows: {
      dropBefore: async (at, signal) =>
        (await history.dropBefore(at, signal)) + (await datasetEvents.dropBefore(at, signal)),
    },
    retentionMs: () => retentionMs.current,
    dropped: (entries) => parts.log.info({ entries }, 'old entries of the history and of events of datasets dropped'),
  });

/** How long deliveries of webhooks are listed after their end. */
const DELIVERIES_MS = 7 * 24 * 3_600_000;

interface WebhookRetentionOptions extends TimerParts {
  readonly deliveries: Pick<WebhookDeliveries, 'dropBefore'>;
}

export const webhookRetention = ({ deliveries, ...parts }: WebhookRetentionOptions): Timer<number> =>
  retention({
    ...parts,
    name: 'webhookRetention',
    rows: deliveries,
    retentionMs: () => DELIVERIES_MS,
    dropped: (count) => parts.log.debug({ deliveries: count }, 'old deliveries of webhooks dropped'),
  });

interface KeyRetentionOptions extends TimerParts {
  /** Of all services of this process. */
  readonly keys: readonly Pick<IdempotencyKeys, 'dropExpired'>[];
}

/** Keys that have expired count for nobody, so they may stay for a while. */
export const keyRetention = ({ keys, ...parts }: KeyRetentionOptions): Timer<number> =>
  retention({
    ...parts,
    name: 'keyRetention',
    rows: {
      dropBefore: async (at, signal) => {
        let sum = 0;
        for (const one of keys) sum += await one.dropExpired(at, signal);
        return sum;
      },
    },
    retentionMs: () => 0,
    dropped: (count) => parts.log.info({ keys: count }, 'expired idempotency keys dropped'),
  });
