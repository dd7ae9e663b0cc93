// One reader and one publisher on a broker that misbehaves, and messages that others wrote.

import { join } from 'node:path';
import kafkajs, { Kafka, Partitioners } from 'kafkajs';
import t from 'tap';
import { createLogger } from '../../engine/runtime/log.ts';
import { linesOf, logged } from '../support/log-lines.ts';
import { KafkaCluster } from './kafka.ts';
import { eventOf, KEY, openLog, Reader } from './kafka-reader.ts';
import type { KafkaTestSettings } from './kafka-settings.ts';

const { ConfigResourceTypes } = kafkajs;
const signal = new AbortController().signal;
// Most of each is waiting for a group to form: side by side they wait once.
t.jobs = 10;
const upTo = (n: number): readonly number[] => Array.from({ length: n }, (_, i) => i + 1);

const shared = await KafkaCluster.start(t, { relayed: true });

/** A channel, on the cluster that the tests share unless they do harm to it. */
async function setup(name: string, partitions: number, more: KafkaTestSettings = {}, cluster = shared) {
  await cluster.createTopic(name, partitions);
  return { cluster, channel: name, settings: { ...more, consumers: { groupId: name, ...more.consumers } } };
}

/** Writes as another program may. */
async function writeRaw(
  cluster: KafkaCluster,
  topic: string,
  messages: readonly { key: string | null; value: string | null }[],
) {
  const kafka = new Kafka({ brokers: cluster.addresses.split(','), logLevel: 0 });
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  await producer.send({ topic, messages: [...messages] });
  await producer.disconnect();
}

t.test('what is no event is skipped and counted, and holds nothing up', async (t) => {
  const { cluster, channel, settings } = await setup('malformed', 1);
  const counted = { malformed: 0, dropped: 0, taken: 0 };
  const log = openLog(t, cluster, settings, {
    onMalformed: (_channel, count) => {
      counted.malformed += count;
    },
    onDropped: (_channel, count) => {
      counted.dropped += count;
    },
    onTaken: (_filter, count) => {
      counted.taken += count;
    },
  });
  const good = '{"eventID":7,"userID":9223372036854775999,"datasetID":"d1","source":"api"}';
  await writeRaw(cluster, channel, [
    { key: KEY, value: 'no json' },
    { key: KEY, value: null },
    { key: KEY, value: '[]' },
    { key: KEY, value: good.replace('7', '-7') },
    { key: KEY, value: good.replace('d1', '../d1') },
    { key: KEY, value: good.replace('api', 'nobody') },
    { key: null, value: good },
    { key: 'other', value: 'no json either' },
    { key: KEY, value: good },
  ]);
  const stop = new AbortController();
  const seen: unknown[] = [];
  await log.consume(
    [{ channel, key: KEY }],
    async (records) => {
      seen.push(...records);
      stop.abort();
    },
    stop.signal,
  );
  const event = { eventID: 7, userID: '9223372036854775999', datasetID: 'd1', source: 'api' };
  t.same(seen, [{ channel, key: KEY, event }]);
  t.same(counted, { malformed: 6, dropped: 2, taken: 1 });
});

t.test('a batch that is refused twice comes a third time, while other partitions go on', async (t) => {
  const { cluster, channel, settings } = await setup('refused', 3);
  const log = openLog(t, cluster, settings);
  const ids = upTo(30);
  let refusals = 0;
  const reader = new Reader(log, channel, (batch) => {
    if (!batch.includes(1) || refusals === 2) return;
    refusals++;
    throw new Error('not now');
  });
  await log.publish(
    ids.map((id) => eventOf(channel, id)),
    signal,
  );
  await reader.until((seen) => seen.filter((id) => id === 1).length === 3 && new Set(seen).size === 30);
  const withFirst = reader.batches.filter((batch) => batch.includes(1));
  t.equal(withFirst.length, 3);
  t.same(withFirst[1], withFirst[0], 'the same again');
  const thrice = new Set(withFirst[0]);
  const others = reader.seen.filter((id) => !thrice.has(id));
  t.equal(others.length, new Set(others).size, 'the others came once');
  await reader.stop();
});

t.test('events of one dataset keep their order, and datasets spread over the partitions', async (t) => {
  const { cluster, channel, settings } = await setup('ordered', 3);
  const partitions = new Set<number>();
  const log = openLog(t, cluster, settings, { onLag: (_channel, partition) => partitions.add(partition) });
  const datasets = upTo(12).map((n) => `dataset${n}`);
  for (let round = 0; round < 20; round++)
    await log.publish(
      datasets.map((dataset, at) => eventOf(channel, round * 100 + at, dataset)),
      signal,
    );
  const reader = new Reader(log, channel);
  await reader.until(({ length }) => length === 240);
  for (const at of datasets.keys())
    t.same(
      reader.seen.filter((id) => id % 100 === at),
      upTo(20).map((round) => (round - 1) * 100 + at),
    );
  t.same([...partitions].sort(), [0, 1, 2]);
  await reader.stop();
});

t.test('each compression is read back by us and by another client', async (t) => {
  const { cluster, channel, settings } = await setup('packed', 1);
  const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const;
  // Larger than a block of snappy's framing.
  const each = 1_000;
  const all = upTo(codecs.length * each);
  for (const [i, compressionType] of codecs.entries())
    await openLog(t, cluster, { ...settings, producers: { compressionType } }).publish(
      all.slice(i * each, (i + 1) * each).map((id) => eventOf(channel, id)),
      signal,
    );
  const text = (id: number) => `{"eventID":${id},"userID":42,"datasetID":"dataset${id}","source":"object-store"}`;
  t.same(await cluster.read(channel, all.length), all.map(text));
  const reader = new Reader(openLog(t, cluster, settings), channel);
  await reader.until(({ length }) => length === all.length);
  t.same(reader.seen, all);
  await reader.stop();
});

t.test('offsets that could not be committed are committed with the next ones', async (t) => {
  const consumers = { enableAutoCommit: false };
  const { cluster, channel, settings } = await setup('uncommitted', 1, { consumers });
  const [log, later] = [openLog(t, cluster, settings), openLog(t, cluster, settings)];
  const reader = new Reader(log, channel);
  const broken = cluster.relay.breakAt('offsetCommit', 'uncommitted');
  await log.publish([eventOf(channel, 1)], signal);
  await broken;
  await reader.stop();
  await log.publish([eventOf(channel, 2)], signal);
  const next = new Reader(later, channel);
  await next.until((seen) => seen.includes(2));
  t.same(next.seen, [2]);
  await next.stop();
});

t.test('a cluster that hangs holds publishing and reading up, and loses nothing', async (t) => {
  const { cluster, channel, settings } = await setup(
    'hung',
    2,
    { producers: { deliveryTimeoutMs: 60_000 } },
    await KafkaCluster.start(t),
  );
  const file = join(t.testdir(), 'log');
  const log = openLog(t, cluster, settings, {}, createLogger({ level: 'info', to: { file } }));
  const reader = new Reader(log, channel);
  await log.publish([eventOf(channel, 1)], signal);
  await reader.until((seen) => seen.includes(1));
  cluster.pause();
  t.teardown(() => cluster.continue());
  await t.rejects(log.probe(AbortSignal.timeout(200)), 'health says that it does not answer');
  const published = log.publish([eventOf(channel, 2)], signal);
  // By then every request of both has timed out.
  await logged(file, 'the event log cannot be read; retrying', 1);
  cluster.continue();
  await published;
  await reader.until((seen) => seen.includes(2));
  await t.resolves(log.probe(signal));
  await reader.stop();
});

t.test('a publish that is not acknowledged within the delivery time-out is transient', async (t) => {
  const { cluster, channel, settings } = await setup('unsent', 1, {}, await KafkaCluster.start(t));
  const patient = openLog(t, cluster, settings);
  const log = openLog(t, cluster, { ...settings, producers: { deliveryTimeoutMs: 1_500 } });
  await patient.publish([eventOf(channel, 1)], signal);
  await cluster.down();
  await t.rejects(log.publish([eventOf(channel, 2)], signal), {
    kind: 'transient',
    unreachable: true,
    message: /^publish to unsent: not acknowledged within 1500 ms; /,
  });
  const ended = new AbortController();
  const waiting = log.publish([eventOf(channel, 3)], ended.signal);
  ended.abort(new Error('shutdown'));
  await t.rejects(waiting, { message: 'shutdown' });
  await t.rejects(log.probe(signal), { kind: 'transient', message: /^Kafka \(127\.0\.0\.1:[0-9]+\) does not respond/ });
  await cluster.up();
  await patient.publish([eventOf(channel, 4)], signal);
  const reader = new Reader(patient, channel);
  await reader.until((seen) => seen.includes(4));
  t.ok(reader.seen.includes(1));
  await reader.stop();
});

t.test('sends are repeated as often as the settings say', async (t) => {
  const publisher = { producerId: 'repeats', producers: { sendRetries: 2 } };
  const { cluster, channel, settings } = await setup('repeats', 1, publisher);
  const file = join(t.testdir(), 'log');
  const log = openLog(t, cluster, settings, {}, createLogger({ level: 'debug', to: { file } }));
  const repeats = () => linesOf(file).filter(({ msg }) => msg === 'events were not acknowledged; retrying').length;
  await log.publish([eventOf(channel, 1)], signal);
  const broken = cluster.relay.breakAt('produce', 'repeats', 3);
  await t.rejects(log.publish([eventOf(channel, 2)], signal), { kind: 'transient', message: /^publish to repeats: / });
  await broken;
  t.equal(repeats(), 2);
  void cluster.relay.breakAt('produce', 'repeats', 2);
  await t.resolves(log.publish([eventOf(channel, 3)], signal));
  t.equal(repeats(), 4);
  const configEntries = [{ name: 'max.message.bytes', value: '50' }];
  const resources = [{ type: ConfigResourceTypes.TOPIC, name: channel, configEntries }];
  await (await cluster.admin()).alterConfigs({ validateOnly: false, resources });
  await t.rejects(log.publish([eventOf(channel, 4)], signal), { kind: 'defect', message: /MESSAGE_TOO_LARGE/ });
  t.equal(repeats(), 4, 'what cannot succeed is not repeated');
  const reader = new Reader(log, channel);
  await reader.until((seen) => seen.includes(3));
  t.same(reader.seen, [1, 3], 'the broker has not seen what broke');
  await reader.stop();
});
