// Opens the configured event log. The libraries of the other kind are not loaded.

import type { Configuration } from '../../config/configuration.ts';
import { EventIds } from '../../engine/adapters/events/event-ids.ts';
import { PostgresEventLog } from '../../engine/adapters/events/postgres-log.ts';
import type { KafkaLogObserver } from '../../engine/adapters/kafka/kafka-log.ts';
import type { KafkaSettings } from '../../engine/adapters/kafka/kafka-options.ts';
import type { Postgres } from '../../engine/adapters/postgres/postgres.ts';
import type { PostgresInstance } from '../../engine/adapters/postgres/postgres-instance.ts';
import type { EventLog } from '../../engine/ports/event-log.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import type { Scope } from '../../engine/runtime/scope.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import type { HealthCheck } from '../../http/kernel/pipeline/ops.ts';
import { tls } from './verification.ts';

interface EventLogParts {
  readonly db: Postgres;
  readonly instance: PostgresInstance;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface OpenEventLog {
  readonly events: EventLog;
  /** Checks for dependencies other than the cache database. */
  readonly checks: readonly HealthCheck[];
}

type Installer = Pick<Configuration['installer'], 'logBroker' | 'lanes' | 'daemons'>;
type Kafka = Extract<Installer['logBroker'], { readonly driver: 'kafka' }>;

export async function openEventLog(installer: Installer, parts: EventLogParts, scope: Scope): Promise<OpenEventLog> {
  const { db, instance, clock, log } = parts;
  const observer = observerOf(installer.lanes, parts.metrics);
  if (installer.logBroker.driver === 'postgres')
    return { events: new PostgresEventLog(db, instance, observer, clock, log), checks: [] };
  const settings = kafkaSettings(installer.logBroker, installer.daemons.eventRouter.brokerProducerId);
  const own = log.child({ actor: 'eventLog' });
  const { KafkaEventLog } = await import('../../engine/adapters/kafka/kafka-log.ts');
  const kafka = scope.use('event log', new KafkaEventLog(settings, new EventIds(db), observer, clock, own));
  // Not vital: while it is unavailable, the lanes continue with their existing jobs.
  const check: HealthCheck = { name: 'log-broker', vital: false, probe: (signal) => kafka.probe(signal) };
  return { events: kafka, checks: [check] };
}

/** Exported for its test. */
export function kafkaSettings(section: Kafka, producerId: string): KafkaSettings {
  const { servers, consumers, producers } = section;
  return {
    servers,
    consumers,
    producers,
    producerId,
    ...tls(section),
  };
}

function observerOf(lanes: Installer['lanes'], metrics: Metrics): KafkaLogObserver {
  const dropped = metrics.counter('event_log_dropped_total', 'Messages with a key that no lane consumes.', ['channel']);
  const malformed = metrics.counter('event_log_malformed_total', 'Messages from Kafka that are not valid events.', [
    'channel',
  ]);
  const taken = metrics.counter('event_log_taken_total', 'Events from Kafka, by brokerConsumerId of the lane.', [
    'consumer',
  ]);
  const lag = metrics.gauge('event_log_lag', 'Messages in Kafka after the last fetched one, by partition.', [
    'channel',
    'partition',
  ]);
  const readers = Object.values(lanes).filter((lane) => 'eventChannel' in lane);
  return {
    onDropped: (channel, count) => dropped.inc({ channel }, count),
    onMalformed: (channel, count) => malformed.inc({ channel }, count),
    onTaken: ({ channel, key }, count) => {
      for (const { brokerConsumerId: consumer, eventChannel, eventKey } of readers)
        if (eventChannel === channel && eventKey === key) taken.inc({ consumer }, count);
    },
    onLag: (channel, partition, messages) => lag.set({ channel, partition: String(partition) }, messages),
  };
}
