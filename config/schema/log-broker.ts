// `installer.logBroker`: the event log. The contract's form (Kafka) with every consumer and producer option, or our
// PostgreSQL driver. Options that the Kafka client has no knob for are marked here and named in a warning when they are set.

import {
  addressList,
  choice,
  driver,
  duration,
  filled,
  flag,
  integer,
  nullable,
  section,
  text,
  union,
} from './field.ts';
import type { Loaded } from './loaded.ts';
import { tlsOptions } from './tls.ts';

const KAFKA_PORT = 9092;
const NO_KNOB = { 'x-ignored': 'the Kafka client has no such setting' };
const NO_BUFFER = { 'x-ignored': 'the Kafka client leaves socket buffers to the operating system' };
const NO_BATCHING = { 'x-ignored': 'the Kafka client sends each publish at once' };
const POSITIVE = { positive: true } as const;

const consumers = filled('How lanes read their channels.', {
  autoCommitInterval: duration('Between commits of offsets.', '5s', POSITIVE),
  autoOffsetReset: choice(
    'Where a group without offsets starts. `none` is taken as `earliest`, so that no event is skipped.',
    ['earliest', 'latest', 'none'],
    { default: 'earliest' },
  ),
  connectionsMaxIdle: duration('After which an idle connection is closed.', '9m', NO_KNOB),
  groupId: text('Consumer group of all processes of one installation.', { default: 'installer-consumers' }),
  groupInstanceId: nullable(text('Static member id.', NO_KNOB), { default: null }),
  defaultApiTimeout: duration('For a call without a time-out of its own.', '1m', NO_KNOB),
  enableAutoCommit: flag('Commit by time; else after each batch. Never before the events are durable here.', true),
  fetchMaxBytes: integer('Bytes of one fetch.', { minimum: 0, default: 52_428_800 }),
  fetchMinBytes: integer('Bytes that a fetch waits for.', { minimum: 0, default: 1 }),
  heartbeatInterval: duration('Between heartbeats to the group coordinator.', '3s', POSITIVE),
  maxPollInterval: duration('For the members of a group to rejoin at a rebalance.', '5m', POSITIVE),
  maxPollRecords: integer('Records handled at a time; 0 is no limit of its own.', { minimum: 0, default: 500 }),
  pollDuration: duration('That a fetch waits for data; at most the heartbeat interval.', '2s'),
  receiveBufferSize: integer('Bytes; -1 is the default of the system.', { minimum: -1, default: 65_536, ...NO_BUFFER }),
  reconnectBackoffMaxTime: duration('Longest wait between attempts to connect.', '1s'),
  reconnectBackoffTime: duration('First wait between attempts to connect.', '50ms'),
  requestTimeout: duration('For one request.', '30s', POSITIVE),
  retryBackoffTime: duration('First wait before a request is repeated.', '100ms'),
  sendBufferSize: integer('Bytes; -1 is the default of the system.', { minimum: -1, default: 131_072, ...NO_BUFFER }),
  sessionTimeout: duration('After which a silent member is dropped from its group.', '45s', POSITIVE),
});
export type KafkaConsumerConfiguration = Loaded<typeof consumers>;

const producers = filled('How events are published.', {
  bufferMemory: integer('Bytes of unsent records.', { minimum: 0, default: 33_554_432, ...NO_BATCHING }),
  compressionType: choice('Codec of published batches.', ['none', 'gzip', 'snappy', 'lz4', 'zstd'], {
    default: 'none',
  }),
  sendRetries: integer('Times that a failed send is repeated within the delivery time-out.', {
    minimum: 0,
    maximum: 2_147_483_647,
    default: 2_147_483_647,
  }),
  batchSize: integer('Bytes of one batch.', { minimum: 0, default: 16_384, ...NO_BATCHING }),
  connectionsMaxIdle: duration('After which an idle connection is closed.', '9m', NO_KNOB),
  deliveryTimeout: duration('For one publish, repeats included.', '2m', POSITIVE),
  lingerTime: duration('That a batch waits for more records.', '5ms', NO_BATCHING),
  maxBlockingTimeout: duration('That a publish waits for buffer space.', '1m', NO_BATCHING),
  maxRequestSize: integer('Bytes of one request, before compression.', { minimum: 0, default: 1_048_576 }),
  receiveBufferSize: integer('Bytes; -1 is the default of the system.', { minimum: -1, default: 32_768, ...NO_BUFFER }),
  requestTimeout: duration('For one request.', '30s', POSITIVE),
  sendBufferSize: integer('Bytes; -1 is the default of the system.', { minimum: -1, default: 131_072, ...NO_BUFFER }),
  reconnectBackoffMaxTime: duration('Longest wait between attempts to connect.', '1s'),
  reconnectBackoffTime: duration('First wait between attempts to connect.', '50ms'),
  retryBackoffTime: duration('First wait before a request is repeated.', '100ms'),
});
export type KafkaProducerConfiguration = Loaded<typeof producers>;

const kafka = section('Kafka.', {
  driver: driver('kafka', { isDefault: true }),
  servers: addressList('Bootstrap servers.', KAFKA_PORT),
  tls: flag('Encrypt connections with TLS.', false),
  tlsOptions,
  consumers,
  producers,
});
export type KafkaConfiguration = Loaded<typeof kafka>;

const postgres = section('Channels in the cache DB: for installations without a Kafka.', {
  driver: driver('postgres'),
});

export const logBroker = union('The event log that feeds the lanes.', [kafka, postgres]);
export type LogBrokerConfiguration = Loaded<typeof logBroker>;
