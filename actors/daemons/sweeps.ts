// What is removed from time to time: uploads whose process crashed, and old weeks of the audit trail.

import { datasetPrefix } from '../../engine/model/object-key.ts';
import type { AuditLog } from '../../engine/ports/audit-log.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type { Uploads } from '../../engine/ports/uploads.ts';
import type { Logger } from '../../engine/runtime/log.ts';
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

// Drops weekly partitions of the audit trail that are past their retention. Every process runs this: a week is dropped once.

interface AuditRetentionOptions extends TimerParts {
  readonly audit: Pick<AuditLog, 'dropBefore'>;
  readonly retentionMs: number;
}

const PERIOD_MS = 3_600_000;
/** Not at startup, when everything else needs the database. */
const FIRST_MS = 60_000;

/** A run returns the number of dropped weeks. */
export const auditRetention = ({ audit, retentionMs, ...parts }: AuditRetentionOptions): Timer<number> =>
  new Timer({
    ...parts,
    name: 'auditRetention',
    periodMs: PERIOD_MS,
    firstMs: FIRST_MS,
    runOnce: async (signal) => {
      const dropped = await audit.dropBefore(parts.clock.now() - retentionMs, signal);
      if (dropped > 0) parts.log.info({ weeks: dropped }, 'old weekly partitions of the audit trail dropped');
      return dropped;
    },
  });
