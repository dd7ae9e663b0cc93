import t from 'tap';
import { kafkaSettings } from '../../../../bin/compose/event-log.ts';
import {
  consumerClient,
  consumerOptions,
  type KafkaSettings,
  producerClient,
  producerOptions,
  startsAtBeginning,
} from '../../../../engine/adapters/kafka/kafka-options.ts';

const SETTINGS: KafkaSettings = {
  servers: [
    { host: 'kafka-1.example.org', port: 9092 },
    { host: '::1', port: 9094 },
  ],
  producerId: 'event-router',
  consumers: {
    autoCommitIntervalMs: 5_001,
    autoOffsetReset: 'earliest',
    enableAutoCommit: true,
    fetchMaxBytes: 50_000_002,
    fetchMinBytes: 3,
    groupId: 'readers',
    heartbeatIntervalMs: 3_004,
    maxPollIntervalMs: 300_005,
    maxPollRecords: 500,
    pollDurationMs: 2_006,
    reconnectBackoffMaxTimeMs: 1_007,
    reconnectBackoffTimeMs: 58,
    requestTimeoutMs: 30_009,
    retryBackoffTimeMs: 110,
    sessionTimeoutMs: 45_011,
  },
  producers: {
    compressionType: 'none',
    deliveryTimeoutMs: 120_000,
    maxRequestSize: 1_048_576,
    reconnectBackoffMaxTimeMs: 1_021,
    reconnectBackoffTimeMs: 62,
    requestTimeoutMs: 8_023,
    retryBackoffTimeMs: 124,
    sendRetries: 5,
  },
};

const consumersWith = (change: Partial<KafkaSettings['consumers']>): KafkaSettings => ({
  ...SETTINGS,
  consumers: { ...SETTINGS.consumers, ...change },
});

t.test('connections are named after the group or the publisher, and use the settings of each', async (t) => {
  const brokers = ['kafka-1.example.org:9092', '[::1]:9094'];
  t.strictSame(consumerClient(SETTINGS), {
    ...{ clientId: 'readers', brokers, connectionTimeout: 10_000, requestTimeout: 30_009 },
    retry: { initialRetryTime: 58, maxRetryTime: 1_007, retries: 5 },
  });
  t.strictSame(producerClient(SETTINGS), {
    ...{ clientId: 'event-router', brokers, connectionTimeout: 8_023, requestTimeout: 8_023 },
    retry: { initialRetryTime: 62, maxRetryTime: 1_021, retries: 5 },
  });
  const tls = { rejectUnauthorized: true, ca: 'PEM' };
  for (const client of [consumerClient, producerClient]) t.strictSame(client({ ...SETTINGS, tls }).ssl, tls);
  const account = { username: 'longshore', password: 'secret' };
  for (const mechanism of ['SCRAM-SHA-512', 'SCRAM-SHA-256', 'PLAIN'] as const) {
    const expected = { mechanism: mechanism.toLowerCase(), ...account };
    const sasl = { mechanism, ...account };
    for (const client of [consumerClient, producerClient]) t.strictSame(client({ ...SETTINGS, sasl }).sasl, expected);
  }
});

t.test('each setting of a reader reaches the client', async (t) => {
  const { retry, ...options } = consumerOptions(SETTINGS);
  t.strictSame(options, {
    groupId: 'readers',
    sessionTimeout: 45_011,
    rebalanceTimeout: 300_005,
    heartbeatInterval: 3_004,
    maxWaitTimeInMs: 2_006,
    minBytes: 3,
    maxBytes: 50_000_002,
    maxBytesPerPartition: 1_048_576,
    metadataMaxAge: 60_000,
    allowAutoTopicCreation: true,
  });
  const { restartOnFailure, ...backoff } = retry ?? {};
  t.strictSame(backoff, { initialRetryTime: 110, maxRetryTime: 1_007, retries: 5 });
  t.equal(await restartOnFailure?.(new Error('any')), false, 'whoever reads starts over');
});

t.test('a fetch waits no longer than a heartbeat may, and never not at all', async (t) => {
  t.equal(consumerOptions(consumersWith({ pollDurationMs: 60_000 })).maxWaitTimeInMs, 3_004);
  t.equal(consumerOptions(consumersWith({ pollDurationMs: 0 })).maxWaitTimeInMs, 50);
  t.equal(consumerOptions(consumersWith({ fetchMaxBytes: 1_000 })).maxBytesPerPartition, 1_000);
});

t.test('numbers that the protocol cannot say are the nearest that it can', async (t) => {
  const { sessionTimeout, heartbeatInterval, maxBytes } = consumerOptions(
    consumersWith({ sessionTimeoutMs: 1e12, heartbeatIntervalMs: 0.001, fetchMaxBytes: 2 ** 40 }),
  );
  t.strictSame([sessionTimeout, heartbeatInterval, maxBytes], [2 ** 31 - 1, 1, 2 ** 31 - 1]);
});

t.test('only `latest` skips what was published before the group had offsets', async (t) => {
  const starts = (['earliest', 'latest', 'none'] as const).map((autoOffsetReset) =>
    startsAtBeginning(consumersWith({ autoOffsetReset })),
  );
  t.strictSame(starts, [true, false, true]);
});

t.test('the client repeats no send by itself', async (t) => {
  t.strictSame(producerOptions(), {
    idempotent: false,
    allowAutoTopicCreation: true,
    metadataMaxAge: 60_000,
    retry: { retries: 0 },
  });
});

t.test('the section of the configuration becomes settings', async (t) => {
  const { servers, consumers, producers } = SETTINGS;
  const caFile = t.testdir({ 'ca.pem': 'PEM' });
  const section = { driver: 'kafka', servers, consumers, producers } as unknown as Parameters<typeof kafkaSettings>[0];
  const without = { ...section, tls: false, tlsOptions: { verify: true } };
  t.strictSame(kafkaSettings(without, 'event-router'), SETTINGS);
  const withTls = { ...section, tls: true, tlsOptions: { verify: true, caFile: `${caFile}/ca.pem` } };
  t.strictSame(kafkaSettings(withTls, 'event-router').tls, { rejectUnauthorized: true, ca: 'PEM' });
  const sasl = { mechanism: 'SCRAM-SHA-512', username: 'longshore', password: 'secret' } as const;
  t.strictSame(kafkaSettings({ ...without, sasl }, 'event-router'), { ...SETTINGS, sasl });
  const open = { ...section, tls: true, tlsOptions: { verify: false } };
  t.strictSame(kafkaSettings(open, 'event-router').tls, { rejectUnauthorized: false });
});
