// `installer.logBroker`: the event log. The contract's form (Kafka) with every consumer and producer option, or our PostgreSQL
// driver. Options that the Kafka client does not have are marked here; a warning names those that are set.
// `installer.queueBroker`: where the object store reports its changes. The contract's form (RabbitMQ), or our PostgreSQL
// driver, which is used with the directory store.

import { tlsOptions } from './database.ts';
import {
  addressList,
  choice,
  driver,
  duration,
  filled,
  flag,
  integer,
  map,
  nullable,
  openAddress,
  optional,
  secret,
  section,
  size,
  text,
  union,
} from './field.ts';

const KAFKA_PORT = 9092;
const NO_KNOB = { 'x-ignored': 'the Kafka client has no such setting' };
const NO_BUFFER = { 'x-ignored': 'the Kafka client leaves socket buffers to the operating system' };
const NO_BATCHING = { 'x-ignored': 'the Kafka client sends each publish at once' };
const SASL = ['SCRAM-SHA-512', 'SCRAM-SHA-256', 'PLAIN'] as const;
const POSITIVE = { positive: true } as const;

const consumers = filled('How lanes read their channels.', {
  autoCommitInterval: duration('Between commits of offsets.', '5s', POSITIVE),
  autoOffsetReset: choice(
    'Where a group without offsets starts. `none` is treated as `earliest` so that no event is skipped.',
    ['earliest', 'latest', 'none'],
    { default: 'earliest' },
  ),
  connectionsMaxIdle: duration('Idle time after which a connection is closed.', '9m', NO_KNOB),
  groupId: text('Consumer group of all processes of one installation.', { default: 'installer-consumers' }),
  groupInstanceId: nullable(text('Static member id.', NO_KNOB), { default: null }),
  defaultApiTimeout: duration('For a call without its own timeout.', '1m', NO_KNOB),
  enableAutoCommit: flag(
    'Commit periodically instead of after each batch. Offsets are never committed before the events are stored.',
    true,
  ),
  fetchMaxBytes: size('Bytes of one fetch.', { minimum: 0, default: 52_428_800 }),
  fetchMinBytes: size('Minimum bytes that a fetch waits for.', { minimum: 0, default: 1 }),
  heartbeatInterval: duration('Between heartbeats to the group coordinator.', '3s', POSITIVE),
  maxPollInterval: duration('How long group members have to rejoin during a rebalance.', '5m', POSITIVE),
  maxPollRecords: integer('Records handled at a time; 0 for no limit.', { minimum: 0, default: 500 }),
  pollDuration: duration('How long a fetch waits for data; at most the heartbeat interval.', '2s'),
  receiveBufferSize: size('Bytes; -1 for the system default.', { minimum: -1, default: 65_536, ...NO_BUFFER }),
  reconnectBackoffMaxTime: duration('Longest wait between attempts to connect.', '1s'),
  reconnectBackoffTime: duration('First wait between attempts to connect.', '50ms'),
  requestTimeout: duration('For one request.', '30s', POSITIVE),
  retryBackoffTime: duration('First wait before a request is retried.', '100ms'),
  sendBufferSize: size('Bytes; -1 for the system default.', { minimum: -1, default: 131_072, ...NO_BUFFER }),
  sessionTimeout: duration('Silence after which a member is removed from its group.', '45s', POSITIVE),
});

const producers = filled('How events are published.', {
  bufferMemory: size('Bytes of unsent records.', { minimum: 0, default: 33_554_432, ...NO_BATCHING }),
  compressionType: choice('Codec of published batches.', ['none', 'gzip', 'snappy', 'lz4', 'zstd'], {
    default: 'none',
  }),
  sendRetries: integer('How often a failed send is retried within the delivery timeout.', {
    minimum: 0,
    maximum: 2_147_483_647,
    default: 2_147_483_647,
  }),
  batchSize: size('Bytes of one batch.', { minimum: 0, default: 16_384, ...NO_BATCHING }),
  connectionsMaxIdle: duration('Idle time after which a connection is closed.', '9m', NO_KNOB),
  deliveryTimeout: duration('For one publish, including retries.', '2m', POSITIVE),
  lingerTime: duration('How long a batch waits for more records.', '5ms', NO_BATCHING),
  maxBlockingTimeout: duration('How long a publish waits for buffer space.', '1m', NO_BATCHING),
  maxRequestSize: size('Bytes of one request, before compression.', { minimum: 0, default: 1_048_576 }),
  receiveBufferSize: size('Bytes; -1 for the system default.', { minimum: -1, default: 32_768, ...NO_BUFFER }),
  requestTimeout: duration('For one request.', '30s', POSITIVE),
  sendBufferSize: size('Bytes; -1 for the system default.', { minimum: -1, default: 131_072, ...NO_BUFFER }),
  reconnectBackoffMaxTime: duration('Longest wait between attempts to connect.', '1s'),
  reconnectBackoffTime: duration('First wait between attempts to connect.', '50ms'),
  retryBackoffTime: duration('First wait before a request is retried.', '100ms'),
});

const sasl = section('Account to log in with. Without it, the listener decides who we are.', {
  mechanism: choice('How the account proves itself. With PLAIN the password is sent as it is: use `tls`.', SASL, {
    default: 'SCRAM-SHA-512',
  }),
  username: text('User.', { minLength: 1 }),
  password: secret('Password of the user.', 1),
});

const kafka = section('Kafka.', {
  driver: driver('kafka', { isDefault: true }),
  servers: addressList('Bootstrap servers.', KAFKA_PORT),
  tls: flag('Encrypt connections with TLS.', false),
  tlsOptions,
  sasl: optional(sasl),
  consumers,
  producers,
});

const channelsInPostgres = section('Channels in the cache DB: for installations without a Kafka.', {
  driver: driver('postgres'),
});

export const logBroker = union('The event log that feeds the lanes.', [kafka, channelsInPostgres]);

export const AMQP_PORTS = { tls: 5671, plain: 5672 } as const;

const named = (description: string) => text(description, { minLength: 3 });
const table = (what: string) => optional(map(`Arguments of the ${what}.`, text('Value.')));

const connection = section('How to reach the broker.', {
  name: text("Connection name shown in the broker's logs.", { default: 'installer' }),
  server: openAddress(`RabbitMQ server. The port defaults to ${AMQP_PORTS.tls} with TLS, ${AMQP_PORTS.plain} without.`),
  username: named('User.'),
  password: secret('Password of the user.', 3),
  tls: flag('Encrypt connections with TLS.', true),
  tlsOptions,
  timeout: duration('For connecting.', '10s', { positive: true }),
});

const exchange = section('Exchange that the object store publishes to; declared if it is missing.', {
  name: named('Name.'),
  type: choice('How it routes.', ['direct', 'fanout', 'topic'], { default: 'direct' }),
  autoDelete: flag('Deleted with its last binding.', false),
  durable: flag('Survives a restart of the broker.', true),
  arguments: table('exchange'),
});

const queue = section('Queue that the event router reads; declared if it is missing.', {
  name: named('Name.'),
  autoDelete: flag('Deleted with its last consumer.', false),
  durable: flag('Survives a restart of the broker.', true),
  exclusive: flag('Used by one connection only.', false),
  arguments: table('queue'),
});

const global = section('The broker.', {
  pollInterval: duration('Accepted for compatibility.', '1s', {
    'x-ignored': 'the broker pushes messages, nothing polls',
  }),
  connection,
  exchange,
  queue,
  routing: optional(
    section('Binding of the queue to the exchange. Default: the empty routing key.', {
      key: optional(named('Routing key.')),
      arguments: table('binding'),
    }),
  ),
});

const rabbitmq = section('RabbitMQ.', { driver: driver('rabbitmq', { isDefault: true }), global });

const changesInPostgres = section('Change rows in the cache DB, written by the directory store.', {
  driver: driver('postgres'),
});

export const queueBroker = union('Notifications of object store changes.', [rabbitmq, changesInPostgres]);
