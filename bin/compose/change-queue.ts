// Opens the source of the object store's changes that the configuration names. The broker's client library is loaded only if
// there is a broker.

import type { Configuration } from '../../config/configuration.ts';
import type { ChangeJournal } from '../../engine/adapters/events/change-journal.ts';
import { PostgresChangeQueue } from '../../engine/adapters/events/postgres-queue.ts';
import type { Postgres } from '../../engine/adapters/postgres/postgres.ts';
import type { PostgresInstance } from '../../engine/adapters/postgres/postgres-instance.ts';
import type { RabbitQueueOptions } from '../../engine/adapters/rabbit/rabbit-queue.ts';
import type { ChangeQueue } from '../../engine/ports/event-log.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import type { HealthCheck } from '../../http/kernel/pipeline/ops.ts';
import { ConfigurationError } from '../cli/configuration-error.ts';
import { tls } from './verification.ts';

interface ChangeQueueParts {
  readonly db: Postgres;
  readonly instance: PostgresInstance;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface OpenChangeQueue {
  readonly changes: ChangeQueue;
  /** Where the directory store records its changes; an S3 store sends its own notifications. */
  readonly journal: ChangeJournal;
  /** Checks for dependencies other than the cache database. */
  readonly checks: readonly HealthCheck[];
}

type Installer = Pick<Configuration['installer'], 'objectStore' | 'queueBroker'>;

export async function openChangeQueue(installer: Installer, parts: ChangeQueueParts): Promise<OpenChangeQueue> {
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

type Broker = Extract<Installer['queueBroker'], { readonly global: unknown }>['global'];

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
function bucketOf({ objectStore }: Installer): string {
  if (objectStore.driver !== 's3')
    throw new ConfigurationError('installer.queueBroker: rabbitmq requires an object store with driver s3');
  return objectStore.bucketName;
}
