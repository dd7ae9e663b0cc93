// How readers and publishers come by their connections, and start over when they lose them.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { KafkaClient } from '../../engine/adapters/kafka/kafka-client.ts';
import { producerClient } from '../../engine/adapters/kafka/kafka-options.ts';
import { createLogger, silentLogger } from '../../engine/runtime/log.ts';
import { linesOf, logged } from '../support/log-lines.ts';
import { KafkaCluster } from './kafka.ts';
import { allow, forbid, THE_CLUSTER } from './kafka-permissions.ts';
import { eventOf, openLog, Reader } from './kafka-reader.ts';
import { type KafkaAddress, kafkaSettings } from './kafka-settings.ts';

const signal = new AbortController().signal;
// Most of each is waiting for a group to form: side by side they wait once.
t.jobs = 8;

const LOST = 'the event log cannot be read; retrying';
const MISSING = 'topics of the event log are missing and this client cannot create them; create them manually';

const ACCOUNTS = [
  { mechanism: 'SCRAM-SHA-512', username: 'longshore', password: 'a password' },
  { mechanism: 'SCRAM-SHA-256', username: 'older', password: 'another password' },
] as const;
const shared = await KafkaCluster.start(t, { secure: { accounts: ACCOUNTS } });
const tls = { ca: readFileSync(shared.secured.caFile, 'utf8'), rejectUnauthorized: true };
/** Of the first account. */
const login: KafkaAddress = { servers: shared.secured.login, tls, sasl: ACCOUNTS[0] };

/** Resolves if a client is let in. */
async function connecting(at: KafkaAddress): Promise<void> {
  const client = new KafkaClient(producerClient(kafkaSettings(at)), silentLogger());
  try {
    const admin = client.kafka.admin({ retry: { retries: 0 } });
    await admin.connect();
    await admin.describeCluster();
  } finally {
    client.cut();
  }
}

t.test('TLS is verified against the given authority, unless told not to', async (t) => {
  const { tls: servers } = shared.secured;
  await t.resolves(connecting({ servers, tls }));
  await t.resolves(connecting({ servers, tls: { rejectUnauthorized: false } }));
  await t.rejects(connecting({ servers, tls: { rejectUnauthorized: true } }), {
    message: /unable to verify the first certificate/,
  });
});

t.test('an account logs in, and nobody else does', async (t) => {
  for (const sasl of ACCOUNTS) {
    await t.resolves(connecting({ ...login, sasl }), sasl.mechanism);
    await t.rejects(connecting({ ...login, sasl: { ...sasl, password: 'wrong' } }), {
      name: 'KafkaJSSASLAuthenticationError',
      message: /invalid credentials/,
    });
  }
  await t.rejects(connecting({ ...login, sasl: { ...ACCOUNTS[0], mechanism: 'PLAIN' } }), {
    message: /does not support the requested SASL mechanism/,
  });
  await t.rejects(connecting({ servers: login.servers, tls }), { name: /^KafkaJS/ }, 'without a login');
});

const { username } = ACCOUNTS[0];

t.test('a topic that is missing is made as the cluster makes topics', async (t) => {
  const file = join(t.testdir(), 'log');
  const log = openLog(t, shared, {}, {}, createLogger({ level: 'info', to: { file } }));
  await log.publish([eventOf('missing', 1)], signal);
  await log.publish([eventOf('missing', 2)], signal);
  t.match(linesOf(file), [{ level: 'info', topics: ['missing'], msg: 'topics of the event log created' }]);
  t.equal(linesOf(file).length, 1);
  const { topics } = await (await shared.admin()).fetchTopicMetadata({ topics: ['missing'] });
  t.equal(topics[0]?.partitions.length, 4);
});

t.test('a topic that is missing and that we may not make is named once, and used once it is there', async (t) => {
  for (const [on, name] of [
    ['CLUSTER', THE_CLUSTER],
    ['TOPIC', 'forbidden'],
  ] as const)
    await forbid(shared, { username, operation: 'CREATE', on, name });
  const file = join(t.testdir(), 'log');
  const log = openLog(t, login, {}, {}, createLogger({ level: 'info', to: { file } }));
  for (const id of [1, 2])
    await t.rejects(log.publish([eventOf('forbidden', id)], signal), {
      kind: 'defect',
      message: 'publish to forbidden: TOPIC_AUTHORIZATION_FAILED',
    });
  await shared.createTopic('forbidden', 1);
  await log.publish([eventOf('forbidden', 3)], signal);
  t.match(linesOf(file), [{ level: 'warn', topics: ['forbidden'], msg: MISSING }]);
  t.equal(linesOf(file).length, 1);
});

t.test('an account needs to read and write the topics, and to read the group', async (t) => {
  const name = 'least';
  await shared.createTopic(name, 1);
  await allow(shared, { username, on: 'TOPIC', name, operations: ['READ', 'WRITE'] });
  await allow(shared, { username, on: 'GROUP', name, operations: ['READ'] });
  const lag = Promise.withResolvers<string>();
  const log = openLog(t, login, { consumers: { groupId: name } }, { onLag: lag.resolve });
  await log.publish([eventOf(name, 1)], signal);
  const reader = new Reader(log, name);
  await reader.until(({ length }) => length === 1);
  t.equal(await lag.promise, name, 'the lag is known, too');
  await reader.stop();
});

t.test('requests hold no more than the settings allow', async (t) => {
  // What one event needs, and not what three do.
  await shared.createTopic('small', 1, { settings: { 'max.message.bytes': '250' } });
  const events = [1, 2, 3].map((id) => eventOf('small', id));
  await t.rejects(openLog(t, shared).publish(events, signal), { kind: 'defect', message: /MESSAGE_TOO_LARGE/ });
  const log = openLog(t, shared, { consumers: { groupId: 'small' }, producers: { maxRequestSize: 0 } });
  await log.publish(events, signal);
  const reader = new Reader(log, 'small');
  await reader.until(({ length }) => length === 3);
  t.same(reader.seen, [1, 2, 3]);
  await reader.stop();
});

t.test('batches hold no more than maxPollRecords', async (t) => {
  await shared.createTopic('polled', 1);
  const log = openLog(t, shared, { consumers: { groupId: 'polled', maxPollRecords: 2 } });
  await log.publish(
    [1, 2, 3, 4, 5].map((id) => eventOf('polled', id)),
    signal,
  );
  const reader = new Reader(log, 'polled');
  await reader.until(({ length }) => length === 5);
  t.same(reader.batches, [[1, 2], [3, 4], [5]]);
  await reader.stop();
});

t.test('a reader that the group refuses starts over until it is let in', async (t) => {
  await shared.createTopic('refused', 1);
  const letIn = await forbid(shared, { username, operation: 'READ', on: 'GROUP', name: 'refused' });
  const file = join(t.testdir(), 'log');
  const log = openLog(
    t,
    login,
    { consumers: { groupId: 'refused' } },
    {},
    createLogger({ level: 'info', to: { file } }),
  );
  const reader = new Reader(log, 'refused');
  await log.publish([eventOf('refused', 1)], signal);
  t.match(await logged(file, LOST, 1), {
    err: { kind: 'defect', message: /^read refused: GROUP_AUTHORIZATION_FAILED/ },
  });
  await letIn();
  await reader.until((seen) => seen.includes(1));
  await reader.stop();
});

t.test('a reader whose cluster is killed goes on when it is back', async (t) => {
  const cluster = await KafkaCluster.start(t);
  await cluster.createTopic('restarted', 1);
  const log = openLog(t, cluster, { consumers: { groupId: 'restarted' } });
  const reader = new Reader(log, 'restarted');
  await log.publish([eventOf('restarted', 1)], signal);
  await reader.until((seen) => seen.includes(1));
  await cluster.down();
  await t.rejects(log.probe(signal), { kind: 'transient', message: /does not respond/ });
  await cluster.up();
  await log.publish([eventOf('restarted', 2)], signal);
  await reader.until((seen) => seen.includes(2));
  await reader.stop();
});

t.test('a reader whose client has fallen silent starts over', async (t) => {
  const cluster = await KafkaCluster.start(t);
  await cluster.createTopic('silent', 1);
  const file = join(t.testdir(), 'log');
  // The client itself would wait for an answer for a minute.
  const consumers = { groupId: 'silent', requestTimeoutMs: 60_000, maxPollIntervalMs: 1_000 };
  const log = openLog(t, cluster, { consumers }, {}, createLogger({ level: 'info', to: { file } }));
  const reader = new Reader(log, 'silent');
  await log.publish([eventOf('silent', 1)], signal);
  await reader.until((seen) => seen.includes(1));
  cluster.pause();
  t.teardown(() => cluster.continue());
  t.match(await logged(file, LOST, 1), {
    err: { message: 'no message from the consumer group for 5500 ms', kind: 'transient' },
  });
  cluster.continue();
  await log.publish([eventOf('silent', 2)], signal);
  await reader.until((seen) => seen.includes(2));
  await reader.stop();
});

t.test('a reader that is told to end before there is a cluster ends at once', async (t) => {
  const log = openLog(t, { servers: [{ host: '127.0.0.1', port: 1 }] });
  const reader = new Reader(log, 'anywhere');
  await t.resolves(reader.stop());
  t.same(reader.seen, []);
});
