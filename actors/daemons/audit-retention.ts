// Drops weekly partitions of the audit trail that are past their retention. Every process runs this: a week is dropped once.

import type { AuditLog } from '../../engine/ports/audit-log.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { Timer } from '../../engine/runtime/timer.ts';

export interface AuditRetentionOptions {
  readonly audit: Pick<AuditLog, 'dropBefore'>;
  readonly retentionMs: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

const PERIOD_MS = 3_600_000;
/** Not at startup, when everything else needs the database. */
const FIRST_MS = 60_000;

/** A run returns the number of dropped weeks. */
export const auditRetention = ({ audit, retentionMs, ...parts }: AuditRetentionOptions): Timer<number> =>
  new Timer({
    ...{ clock: parts.clock, log: parts.log, metrics: parts.metrics },
    name: 'auditRetention',
    periodMs: PERIOD_MS,
    firstMs: FIRST_MS,
    runOnce: async (signal) => {
      const dropped = await audit.dropBefore(parts.clock.now() - retentionMs, signal);
      if (dropped > 0) parts.log.info({ weeks: dropped }, 'old weekly partitions of the audit trail dropped');
      return dropped;
    },
  });
