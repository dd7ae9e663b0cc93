// Opens the configured event log. The libraries of the other kind are not loaded.

import type { Configuration } from '../../config/configuration.ts';
import { EventIds, PostgresEventLog } from '../../engine/adapters/events/postgres-log.ts';
import { type ChangeJournal, PostgresChangeQueue } from '../../engine/adapters/events/postgres-queue.ts';
import type { KafkaLogObserver } from '../../engine/adapters/kafka/kafka-log.ts';
import type { KafkaSettings } from '../../engine/adapters/kafka/kafka-options.ts';
import type { Postgres } from '../../engine/adapters/postgres/postgres.ts';
import type { PostgresInstance } from '../../engine/adapters/postgres/postgres-instance.ts';
import type { RabbitQueueOptions } from '../../engine/adapters/rabbit/rabbit-queue.ts';
import type { ChangeQueue, EventLog } from '../../engine/ports/event-log.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import type { Scope } from '../../engine/runtime/scope.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import type { HealthCheck } from '../../http/kernel/pipeline/ops.ts';
import { ConfigurationError } from '../cli/command.ts';
import { tls } from './verification.ts';

interface EventLogParts {
  readonly db: Postgres;
  readonly instance: PostgresInstance;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

interface OpenEventLog {
  readonly events: EventLog;
  /** Checks for dependencies other than the cache database. */
  readonly checks: readonly HealthCheck[];
}

type LogSections = Pick<Configuration['installer'], 'logBroker' | 'lanes' | 'daemons'>;
type Kafka = Extract<LogSections['logBroker'], { readonly driver: 'kafka' }>;

export async function openEventLog(installer: LogSections, parts: EventLogParts, scope: Scope): Promise<OpenEventLog> {
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
  const { servers, sasl, consumers, producers } = section;
  return {
    servers,
    consumers,
    producers,
    producerId,
    ...tls(section),
    ...(sasl && { sasl }),
  };
}

function observerOf(lanes: LogSections['lanes'], metrics: Metrics): KafkaLogObserver {
  const dropped = metrics.counter('event_log_dropped_total', 'Messages with a key that no lane consumes.', ['channel']);
  const malformed = metrics.counter('event_log_malformed_total', 'Messages from Kafka that are not valid events.', [
    'channel',
  ]);
  const taken = metrics.counter('event_log_taken_total', 'Events from Kafka, by brokerConsumerId of the lane.', [
    'consumer',
  ]);
  const lag = metrics.gauge(
    'event_log_lag',
    'Messages in Kafka that no process has taken and committed, by partition.',
    ['channel', 'partition'],
  );
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

// Opens the source of the object store's changes that the configuration names. The broker's client library is loaded only if
// there is a broker.

interface ChangeQueueParts {
  readonly db: Postgres;
  readonly instance: PostgresInstance;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

interface OpenChangeQueue {
  readonly changes: ChangeQueue;
  /** Where the directory store records its changes; an S3 store sends its own notifications. */
  readonly journal: ChangeJournal;
  /** Checks for dependencies other than the cache database. */
  readonly checks: readonly HealthCheck[];
}

type ChangeSections = Pick<Configuration['installer'], 'objectStore' | 'queueBroker'>;

export async function openChangeQueue(installer: ChangeSections, parts: ChangeQueueParts): Promise<OpenChangeQueue> {
  const { db, instance, clock, log, metrics } = parts;
  const queue = new PostgresChangeQueue(db, instance, clock, log);
  const results = metrics.counter(
    'queue_messages_total',
    'Records from the queue broker that were ignored or malformed.',
    ['result'],
  );
  if (installer.queueBroker.driver === 'postgres') return { changes: queue, journal: queue, checks: [] };
  const options: RabbitQueueOptions = {
    ...rabbitOptions(installer.queueBroker.global),
    bucket: bucketOf(installer),
    onIgnored: (records) => results.inc({ result: 'ignored' }, records),
    onMalformed: () => results.inc({ result: 'malformed' }),
  };
  const { RabbitChangeQueue } = await import('../../engine/adapters/rabbit/rabbit-queue.ts');
  const rabbit = new RabbitChangeQueue(options, clock, log);
  const check: HealthCheck = { name: 'queue-broker', vital: false, probe: (signal) => rabbit.probe(signal) };
  return { changes: rabbit, journal: queue, checks: [check] };
}

type Broker = Extract<ChangeSections['queueBroker'], { readonly global: unknown }>['global'];

/** Options from the section `queueBroker`. */
export function rabbitOptions({
  connection,
  exchange,
  queue,
  routing,
}: Broker): Omit<RabbitQueueOptions, 'bucket' | 'onIgnored' | 'onMalformed'> {
  return {
    name: connection.name,
    host: connection.server.host,
    port: connection.server.port,
    username: connection.username,
    password: connection.password,
    ...tls(connection),
    timeoutMs: connection.timeoutMs,
    exchange: { ...exchange, arguments: exchange.arguments ?? {} },
    queue: { ...queue, arguments: queue.arguments ?? {} },
    routing: { key: routing?.key ?? '', arguments: routing?.arguments ?? {} },
  };
}

/** The configuration's rules allow a broker only together with an S3 store. */
function bucketOf({ objectStore }: ChangeSections): string {
  if (objectStore.driver !== 's3')
    throw new ConfigurationError('installer.queueBroker: rabbitmq requires an object store with driver s3');
  return objectStore.bucketName;
}
