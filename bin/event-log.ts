// The event log that the configuration names.

import type { Configuration } from '../config/configuration.ts';
import type { Postgres } from '../engine/adapters/postgres.ts';
import type { PostgresInstance } from '../engine/adapters/postgres-instance.ts';
import { PostgresEventLog } from '../engine/adapters/postgres-log.ts';
import type { Logger } from '../engine/log.ts';
import type { Metrics } from '../engine/metrics.ts';
import type { EventLog } from '../engine/ports/event-log.ts';
import type { Clock } from '../engine/time.ts';
import { ConfigurationError } from './configuration-error.ts';

interface EventLogParts {
  readonly db: Postgres;
  readonly instance: PostgresInstance;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export function openEventLog(section: Configuration['installer']['logBroker'], parts: EventLogParts): EventLog {
  const { db, instance, clock, log, metrics } = parts;
  // What this version has no adapter for is refused by its key.
  if (section.driver !== 'postgres')
    throw new ConfigurationError(
      `installer.logBroker: this version has no ${section.driver} adapter; use \`driver: postgres\``,
    );
  const dropped = metrics.counter('event_log_dropped_total', 'Messages with a key that no lane wants.', ['channel']);
  const onDropped = (channel: string, count: number): void => dropped.inc({ channel }, count);
  return new PostgresEventLog(db, instance, { onDropped }, clock, log);
}
