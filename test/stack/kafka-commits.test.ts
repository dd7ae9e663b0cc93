// Where a group starts, and when the cluster is told how far it has come.

import t from 'tap';
import { systemClock } from '../../engine/runtime/time.ts';
import { KafkaCluster } from './kafka.ts';
import { eventOf, openLog, Reader } from './kafka-reader.ts';

const signal = new AbortController().signal;
const LOOK_MS = 50;
// Most of each is waiting for a group to form: side by side they wait once.
t.jobs = 4;
const cluster = await KafkaCluster.start(t);
const admin = await cluster.admin();

/** Of partition 0; -1 before the first commit. */
async function committed(groupId: string, topic: string): Promise<number> {
  const [{ partitions } = { partitions: [] }] = await admin.fetchOffsets({ groupId, topics: [topic] });
  return Number(partitions[0]?.offset);
}

t.test('a group without offsets starts where autoOffsetReset says', async (t) => {
  const topic = 'start';
  await cluster.createTopic(topic, 1);
  const publisher = openLog(t, cluster);
  await publisher.publish([eventOf(topic, 1)], signal);
  const readers = (['earliest', 'none', 'latest'] as const).map((autoOffsetReset) => {
    const groupId = `start-${autoOffsetReset}`;
    return new Reader(openLog(t, cluster, { consumers: { groupId, autoOffsetReset } }), topic);
  });
  const [earliest, none, latest] = readers;
  // It says nothing of where it starts: events are published until it has one.
  let id = 1;
  while (latest?.seen.length === 0) {
    await publisher.publish([eventOf(topic, ++id)], signal);
    await systemClock.sleep(LOOK_MS, signal);
  }
  for (const reader of readers) await reader.until((seen) => seen.includes(id));
  const all = Array.from({ length: id }, (_, i) => i + 1);
  t.same([earliest?.seen, none?.seen], [all, all], 'no event is skipped');
  t.notOk(latest?.seen.includes(1), 'what was there before is skipped');
  for (const reader of readers) await reader.stop();
});

t.test('offsets are committed when autoCommitInterval has passed, and not before', async (t) => {
  const topic = 'by-time';
  await cluster.createTopic(topic, 1);
  const soon = openLog(t, cluster, { consumers: { groupId: 'soon', autoCommitIntervalMs: 200 } });
  const late = openLog(t, cluster, { consumers: { groupId: 'late', autoCommitIntervalMs: 3_600_000 } });
  const readers = [new Reader(soon, topic), new Reader(late, topic)];
  await soon.publish([eventOf(topic, 1)], signal);
  for (const reader of readers) await reader.until(({ length }) => length === 1);
  while ((await committed('soon', topic)) !== 1) await systemClock.sleep(LOOK_MS, signal);
  t.equal(await committed('late', topic), -1);
  for (const reader of readers) await reader.stop();
  t.equal(await committed('late', topic), 1, 'and when it leaves');
});

t.test('without enableAutoCommit offsets are committed after each batch', async (t) => {
  const topic = 'by-batch';
  await cluster.createTopic(topic, 1);
  const consumers = { groupId: topic, enableAutoCommit: false, maxPollRecords: 1, autoCommitIntervalMs: 3_600_000 };
  const log = openLog(t, cluster, { consumers });
  const before: number[] = [];
  const reader = new Reader(log, topic, async () => before.push(await committed(topic, topic)));
  for (const id of [1, 2, 3]) await log.publish([eventOf(topic, id)], signal);
  await reader.until(({ length }) => length === 3);
  await reader.stop();
  t.same(before, [-1, 1, 2]);
});

t.test('a member is known by the group id until it leaves', async (t) => {
  const topic = 'member';
  await cluster.createTopic(topic, 1);
  const log = openLog(t, cluster, { consumers: { groupId: topic } });
  const reader = new Reader(log, topic);
  await log.publish([eventOf(topic, 1)], signal);
  await reader.until(({ length }) => length === 1);
  const members = async () => (await admin.describeGroups([topic])).groups[0]?.members.map(({ clientId }) => clientId);
  t.same(await members(), [topic]);
  await reader.stop();
  t.same(await members(), []);
});
