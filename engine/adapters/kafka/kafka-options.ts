// Maps the settings of `logBroker` to options of the Kafka client. Each key is used here, marked `x-ignored` in the schema, or
// used in one of these files:
//   enableAutoCommit, autoCommitInterval, maxPollRecords                                        kafka-membership.ts
//   compressionType, sendRetries, deliveryTimeout, producers.retryBackoffTime, maxRequestSize   kafka-publisher.ts

import type { ConnectionOptions } from 'node:tls';
import type { ConsumerConfig, KafkaConfig, ProducerConfig, RetryOptions, SASLOptions } from 'kafkajs';

export interface KafkaConsumerSettings {
  readonly autoCommitIntervalMs: number;
  readonly autoOffsetReset: 'earliest' | 'latest' | 'none';
  readonly enableAutoCommit: boolean;
  readonly fetchMaxBytes: number;
  readonly fetchMinBytes: number;
  readonly groupId: string;
  readonly heartbeatIntervalMs: number;
  readonly maxPollIntervalMs: number;
  /** 0 means no limit of its own. */
  readonly maxPollRecords: number;
  readonly pollDurationMs: number;
  readonly reconnectBackoffMaxTimeMs: number;
  readonly reconnectBackoffTimeMs: number;
  readonly requestTimeoutMs: number;
  readonly retryBackoffTimeMs: number;
  readonly sessionTimeoutMs: number;
}

export interface KafkaProducerSettings {
  readonly compressionType: 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';
  readonly deliveryTimeoutMs: number;
  readonly maxRequestSize: number;
  readonly reconnectBackoffMaxTimeMs: number;
  readonly reconnectBackoffTimeMs: number;
  readonly requestTimeoutMs: number;
  readonly retryBackoffTimeMs: number;
  readonly sendRetries: number;
}

export interface KafkaLogin {
  readonly mechanism: 'SCRAM-SHA-512' | 'SCRAM-SHA-256' | 'PLAIN';
  readonly username: string;
  readonly password: string;
}

export interface KafkaSettings {
  readonly servers: readonly { readonly host: string; readonly port: number }[];
  readonly tls?: Pick<ConnectionOptions, 'ca' | 'rejectUnauthorized'>;
  /** Logs in; otherwise we are whoever the listener takes us for. */
  readonly sasl?: KafkaLogin;
  readonly consumers: KafkaConsumerSettings;
  readonly producers: KafkaProducerSettings;
  /** Client id of the publisher. */
  readonly producerId: string;
}

/** Maximum time to open a connection. */
const CONNECT_MS = 10_000;
/** How often a connection is attempted, with back-off, before the caller gets the error and starts over. */
const CONNECT_TRIES = 5;
/** A fetch without a wait would be repeated in a tight loop. */
const SHORTEST_POLL_MS = 50;
const LARGEST = 2 ** 31 - 1;
const BYTES_PER_PARTITION = 1_048_576;
/** Maximum age of metadata: new partitions are found after it. */
const METADATA_AGE_MS = 60_000;

type Connecting = Pick<
  KafkaConsumerSettings,
  'reconnectBackoffMaxTimeMs' | 'reconnectBackoffTimeMs' | 'requestTimeoutMs'
>;

/** Connections of readers. One client reads for all lanes, so its id is the group's. */
export const consumerClient = (settings: KafkaSettings): KafkaConfig =>
  client(settings, settings.consumers, settings.consumers.groupId);

/** Connections of the publisher and of administrative requests. */
export const producerClient = (settings: KafkaSettings): KafkaConfig =>
  client(settings, settings.producers, settings.producerId);

function client({ servers, tls, sasl }: KafkaSettings, own: Connecting, clientId: string): KafkaConfig {
  return {
    clientId,
    brokers: servers.map(({ host, port }) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)),
    ...(tls ? { ssl: tls } : {}),
    ...(sasl ? { sasl: saslOptions(sasl) } : {}),
    connectionTimeout: Math.min(CONNECT_MS, whole(own.requestTimeoutMs)),
    requestTimeout: whole(own.requestTimeoutMs),
    retry: backoff(own.reconnectBackoffTimeMs, own.reconnectBackoffMaxTimeMs),
  };
}

function saslOptions({ mechanism, ...account }: KafkaLogin): SASLOptions {
  const spelled = { 'SCRAM-SHA-512': 'scram-sha-512', 'SCRAM-SHA-256': 'scram-sha-256', PLAIN: 'plain' } as const;
  return { mechanism: spelled[mechanism], ...account };
}

export function consumerOptions({ consumers }: KafkaSettings): ConsumerConfig {
  // The client sends no heartbeat while a fetch waits.
  const wait = Math.max(SHORTEST_POLL_MS, Math.min(consumers.pollDurationMs, consumers.heartbeatIntervalMs));
  const maxBytes = whole(consumers.fetchMaxBytes);
  return {
    groupId: consumers.groupId,
    sessionTimeout: whole(consumers.sessionTimeoutMs),
    rebalanceTimeout: whole(consumers.maxPollIntervalMs),
    heartbeatInterval: whole(consumers.heartbeatIntervalMs),
    maxWaitTimeInMs: whole(wait),
    minBytes: whole(consumers.fetchMinBytes),
    maxBytes,
    maxBytesPerPartition: Math.max(1, Math.min(BYTES_PER_PARTITION, maxBytes)),
    metadataMaxAge: METADATA_AGE_MS,
    allowAutoTopicCreation: true,
    retry: {
      ...backoff(
        consumers.retryBackoffTimeMs,
        Math.max(consumers.retryBackoffTimeMs, consumers.reconnectBackoffMaxTimeMs),
      ),
      // The caller starts over with a new client, whatever the error was.
      restartOnFailure: async () => false,
    },
  };
}

export const startsAtBeginning = ({ consumers }: KafkaSettings): boolean => consumers.autoOffsetReset !== 'latest';

/**
 * Not idempotent: when one partition fails, the client resets the sequence numbers of all partitions, after which the broker
 * rejects the rest permanently. Duplicate events are harmless. The client does not retry itself, so that nothing is sent after
 * the publish has failed.
 */
export const producerOptions = (): ProducerConfig => ({
  idempotent: false,
  allowAutoTopicCreation: true,
  metadataMaxAge: METADATA_AGE_MS,
  retry: { retries: 0 },
});

const backoff = (firstMs: number, longestMs: number): RetryOptions => ({
  initialRetryTime: whole(firstMs),
  maxRetryTime: whole(longestMs),
  retries: CONNECT_TRIES,
});

/** The protocol and timers take whole numbers of 32 bits. */
const whole = (value: number): number => Math.min(LARGEST, Math.ceil(value));
