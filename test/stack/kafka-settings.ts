// Settings towards a cluster of the tests: as quick to notice as the cluster allows.

import type {
  KafkaConsumerSettings,
  KafkaProducerSettings,
  KafkaSettings,
} from '../../engine/adapters/kafka/kafka-options.ts';

export interface KafkaTestSettings {
  readonly producerId?: string;
  readonly consumers?: Partial<KafkaConsumerSettings>;
  readonly producers?: Partial<KafkaProducerSettings>;
}

const CONNECTING = {
  reconnectBackoffTimeMs: 20,
  reconnectBackoffMaxTimeMs: 200,
  requestTimeoutMs: 2_000,
  retryBackoffTimeMs: 20,
} as const;

/** A cluster, as it is reached by anybody or by an account. */
export type KafkaAddress = Pick<KafkaSettings, 'servers' | 'tls' | 'sasl'>;

export const kafkaSettings = (
  { servers, tls, sasl }: KafkaAddress,
  { producerId = 'router', consumers, producers }: KafkaTestSettings = {},
): KafkaSettings => ({
  servers,
  ...(tls && { tls }),
  ...(sasl && { sasl }),
  producerId,
  consumers: {
    ...CONNECTING,
    autoCommitIntervalMs: 500,
    autoOffsetReset: 'earliest',
    enableAutoCommit: true,
    fetchMaxBytes: 52_428_800,
    fetchMinBytes: 1,
    groupId: 'tests',
    heartbeatIntervalMs: 200,
    maxPollIntervalMs: 5_000,
    maxPollRecords: 500,
    pollDurationMs: 100,
    sessionTimeoutMs: 4_500,
    ...consumers,
  },
  producers: {
    ...CONNECTING,
    compressionType: 'none',
    deliveryTimeoutMs: 10_000,
    maxRequestSize: 1_048_576,
    sendRetries: 2_147_483_647,
    ...producers,
  },
});
