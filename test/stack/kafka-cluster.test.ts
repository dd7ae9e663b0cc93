// Three brokers: partitions move between them, leaders are killed; and what becomes of messages that retention removed.

import kafkajs from 'kafkajs';
import t from 'tap';
import { systemClock } from '../../engine/runtime/time.ts';
import { KafkaCluster } from './kafka.ts';
import { eventOf, openLog, Reader } from './kafka-reader.ts';

const { ConfigResourceTypes } = kafkajs;
const signal = new AbortController().signal;
const LOOK_MS = 100;
const cluster = await KafkaCluster.start(t, { brokers: 3 });
const admin = await cluster.admin();
const upTo = (n: number): readonly number[] => Array.from({ length: n }, (_, i) => i + 1);

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await systemClock.sleep(LOOK_MS, signal);
}

async function leaderOf(topic: string): Promise<number | undefined> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  return topics[0]?.partitions[0]?.leader;
}

async function offsetsOf(topic: string): Promise<{ readonly low: number; readonly high: number }> {
  const [partition] = await admin.fetchTopicOffsets(topic);
  return { low: Number(partition?.low), high: Number(partition?.high) };
}

/** Publishes one event after the other until it is stopped; resolves with the ids of all. */
function publishing(topic: string, log: ReturnType<typeof openLog>) {
  const stop = new AbortController();
  const published: number[] = [];
  const done = (async () => {
    while (!stop.signal.aborted) {
      const id = published.length + 1;
      await log.publish([eventOf(topic, id)], signal);
      published.push(id);
    }
    return published;
  })();
  return {
    published,
    end(): Promise<readonly number[]> {
      stop.abort();
      return done;
    },
  };
}

/** In the order in which each came first. */
const firsts = (seen: readonly number[]): readonly number[] => [...new Set(seen)];

t.test('a partition moves to another broker under load: every event comes, and in order', async (t) => {
  const topic = 'moved';
  await cluster.createTopic(topic, 1, { on: [1], settings: { 'min.insync.replicas': '1' } });
  const log = openLog(t, cluster, { consumers: { groupId: topic }, producers: { deliveryTimeoutMs: 60_000 } });
  const reader = new Reader(log, topic);
  const load = publishing(topic, log);
  for (const broker of [2, 3, 1]) {
    const before = load.published.length;
    await reader.until((seen) => seen.length > before);
    await admin.alterPartitionReassignments({
      topics: [{ topic, partitionAssignment: [{ partition: 0, replicas: [broker] }] }],
    });
    await until(async () => (await leaderOf(topic)) === broker);
  }
  const before = load.published.length;
  await reader.until((seen) => seen.length > before);
  const all = await load.end();
  await reader.until((seen) => seen.includes(all.length));
  t.same(firsts(reader.seen), all);
  await reader.stop();
});

t.test('the leader of a partition is killed under load: the others go on, and no event is lost', async (t) => {
  const topic = 'led';
  await cluster.createTopic(topic, 1);
  const log = openLog(t, cluster, { consumers: { groupId: topic }, producers: { deliveryTimeoutMs: 60_000 } });
  const reader = new Reader(log, topic);
  const load = publishing(topic, log);
  await reader.until((seen) => seen.length > 0);
  const leader = (await leaderOf(topic)) ?? 0;
  await cluster.down(leader);
  const before = load.published.length;
  // One more than may have been under way.
  await reader.until((seen) => seen.some((id) => id > before + 1));
  await cluster.up(leader);
  const all = await load.end();
  await reader.until((seen) => seen.includes(all.length));
  t.same(firsts(reader.seen), all);
  await reader.stop();
});

t.test('what retention removed unread is skipped, and nothing else', async (t) => {
  const topic = 'cut';
  await cluster.createTopic(topic, 1);
  const keepFor = async (ms: string): Promise<void> => {
    const entry = { name: 'retention.ms', value: ms };
    const resource = { type: ConfigResourceTypes.TOPIC, name: topic, configEntries: [entry] };
    await admin.alterConfigs({ validateOnly: false, resources: [resource] });
  };
  const log = openLog(t, cluster, { consumers: { groupId: topic } });
  const publish = (ids: readonly number[]) =>
    log.publish(
      ids.map((id) => eventOf(topic, id)),
      signal,
    );
  const release = Promise.withResolvers<void>();
  const reader = new Reader(log, topic, () => release.promise);
  await publish(upTo(3));
  await reader.until(({ length }) => length === 3);
  // It is away while these are removed, and has them before it when it comes back.
  await publish(upTo(10).slice(3));
  await keepFor('1');
  await until(async () => (await offsetsOf(topic)).low === 10);
  await keepFor('-1');
  await publish([11, 12, 13]);
  release.resolve();
  await reader.until((seen) => seen.includes(13));
  t.same(firsts(reader.seen), [1, 2, 3, 11, 12, 13]);
  await reader.stop();

  // So it is for one that starts where messages were that are gone.
  await publish([14, 15]);
  await keepFor('1');
  await until(async () => (await offsetsOf(topic)).low === 15);
  await keepFor('-1');
  await publish([16, 17]);
  const later = new Reader(log, topic);
  await later.until((seen) => seen.includes(17));
  t.same(later.seen, [16, 17]);
  await later.stop();
  const [{ partitions } = { partitions: [] }] = await admin.fetchOffsets({ groupId: topic, topics: [topic] });
  t.equal(Number(partitions[0]?.offset), (await offsetsOf(topic)).high, 'nothing is left to read');
});
