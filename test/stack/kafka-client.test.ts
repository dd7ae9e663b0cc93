// How readers and publishers come by their connections, and start over when they lose them.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import t, { type Test } from 'tap';
import { KafkaClient } from '../../engine/adapters/kafka/kafka-client.ts';
import { producerClient } from '../../engine/adapters/kafka/kafka-options.ts';
import { createLogger, silentLogger } from '../../engine/runtime/log.ts';
import { linesOf, logged } from '../support/log-lines.ts';
import { makeCertificate } from './certificate.ts';
import { KafkaCluster } from './kafka.ts';
import { eventOf, openLog, Reader } from './kafka-reader.ts';
import { kafkaSettings } from './kafka-settings.ts';

const signal = new AbortController().signal;
// Most of each is waiting for a group to form: side by side they wait once.
t.jobs = 8;

const LOST = 'the event log cannot be read; retrying';

/** The cluster behind TLS, as far as its first broker. */
async function tlsServer(t: Test, cluster: KafkaCluster) {
  const certificate = makeCertificate(t.testdir());
  const [broker] = cluster.servers;
  if (!broker) throw new Error('no broker');
  const options = { cert: readFileSync(certificate.certFile), key: readFileSync(certificate.keyFile) };
  const server = createServer(options, (socket) => {
    const behind = connect(broker.port, broker.host);
    socket.pipe(behind).pipe(socket);
    for (const end of [socket, behind]) end.on('error', () => undefined);
  });
  // Clients that do not trust it end the handshake.
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { servers: [{ host: 'localhost', port: address.port }], ca: readFileSync(certificate.caFile, 'utf8') };
}

t.test('TLS is verified against the given authority, unless told not to', async (t) => {
  const { servers, ca } = await tlsServer(t, await KafkaCluster.start(t));
  const connecting = async (tls: { readonly ca?: string; readonly rejectUnauthorized: boolean }): Promise<void> => {
    const client = new KafkaClient(producerClient({ ...kafkaSettings({ servers }), tls }), silentLogger());
    try {
      await client.kafka.admin().connect();
    } finally {
      client.cut();
    }
  };
  await t.resolves(connecting({ ca, rejectUnauthorized: true }));
  await t.resolves(connecting({ rejectUnauthorized: false }));
  await t.rejects(connecting({ rejectUnauthorized: true }), { message: /unable to verify the first certificate/ });
});

t.test('a topic that is missing and cannot be made is named once, and used where the cluster makes it', async (t) => {
  const cluster = await KafkaCluster.start(t);
  const file = join(t.testdir(), 'log');
  const log = openLog(t, cluster, {}, {}, createLogger({ level: 'info', to: { file } }));
  await log.publish([eventOf('missing', 1)], signal);
  await log.publish([eventOf('missing', 2)], signal);
  t.match(linesOf(file), [
    {
      level: 'warn',
      topics: ['missing'],
      msg: 'topics of the event log are missing and this client cannot create them; create them manually',
    },
  ]);
  t.equal(linesOf(file).length, 1);
});

t.test('requests hold no more than the settings allow', async (t) => {
  const cluster = await KafkaCluster.start(t);
  await cluster.createTopic('small', 1);
  const log = openLog(t, cluster, { consumers: { groupId: 'small' }, producers: { maxRequestSize: 0 } });
  await log.publish(
    [1, 2, 3].map((id) => eventOf('small', id)),
    signal,
  );
  const reader = new Reader(log, 'small');
  await reader.until(({ length }) => length === 3);
  t.same(reader.batches, [[1], [2], [3]], 'the cluster hands out what it was given in one request');
  await reader.stop();
});

t.test('batches hold no more than maxPollRecords', async (t) => {
  const cluster = await KafkaCluster.start(t);
  await cluster.createTopic('polled', 1);
  const log = openLog(t, cluster, { consumers: { groupId: 'polled', maxPollRecords: 2 } });
  await log.publish(
    [1, 2, 3, 4, 5].map((id) => eventOf('polled', id)),
    signal,
  );
  const reader = new Reader(log, 'polled');
  await reader.until(({ length }) => length === 5);
  t.same(reader.batches, [[1, 2], [3, 4], [5]]);
  await reader.stop();
});

t.test('a reader that the group refuses, and one whose cluster went away, start over', async (t) => {
  const cluster = await KafkaCluster.start(t);
  await cluster.createTopic('restarted', 1);
  const file = join(t.testdir(), 'log');
  const settings = { consumers: { groupId: 'restarted' } };
  const log = openLog(t, cluster, settings, {}, createLogger({ level: 'info', to: { file } }));
  await cluster.fail('joinGroup', 'groupRefused', 1);
  const reader = new Reader(log, 'restarted');
  await log.publish([eventOf('restarted', 1)], signal);
  await reader.until((seen) => seen.includes(1));
  t.match(linesOf(file)[0], {
    level: 'warn',
    err: { kind: 'defect', message: /^read restarted: GROUP_AUTHORIZATION_FAILED/ },
    msg: LOST,
  });
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
