// Several readers of one group: they join, leave, die and hang; nothing is lost.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t, { type Test } from 'tap';
import { createLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { KafkaCluster } from './kafka.ts';
import { eventOf, openLog, Reader } from './kafka-reader.ts';

const signal = new AbortController().signal;
const LOOK_MS = 50;
// Most of each is waiting for a group to change: side by side they wait once.
t.jobs = 5;

const cluster = await KafkaCluster.start(t);

/** A channel of that many partitions, and a group of the same name. */
async function setup(name: string, partitions: number) {
  await cluster.createTopic(name, partitions);
  return { channel: name, settings: { consumers: { groupId: name } } };
}

const sorted = (ids: Iterable<number>): readonly number[] => [...new Set(ids)].sort((a, b) => a - b);
const upTo = (n: number): readonly number[] => Array.from({ length: n }, (_, i) => i + 1);
const events = (channel: string, ids: readonly number[]) => ids.map((id) => eventOf(channel, id));

/** Reads in another process. */
async function readingProcess(t: Test, channel: string) {
  const program = join(import.meta.dirname, 'kafka-reader.ts');
  const child = spawn(process.execPath, [program, cluster.addresses, channel, channel], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const said: string[] = [];
  child.stderr.on('data', (chunk: Buffer) => said.push(chunk.toString()));
  const seen: number[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => seen.push(Number(line)));
  return {
    seen,
    said,
    async kill() {
      child.kill('SIGKILL');
      await once(child, 'close');
    },
  };
}

t.test(
  'two processes share the partitions; when one is killed the other takes over, and nothing is lost',
  async (t) => {
    const { channel, settings } = await setup('killed', 4);
    const log = openLog(t, cluster, settings);
    const other = await readingProcess(t, channel);
    const reader = new Reader(log, channel);
    const all: number[] = [];
    // More events until both have had some.
    const publish = async (): Promise<void> => {
      const more = upTo(40).map((n) => all.length + n);
      all.push(...more);
      await log.publish(events(channel, more), signal);
    };
    while (reader.seen.length === 0 || other.seen.length === 0) {
      await publish();
      await systemClock.sleep(LOOK_MS, signal);
    }
    await other.kill();
    t.same(other.said, [], 'nothing is said on standard error');
    await publish();
    const late = new Set(all.slice(-40));
    await reader.until((seen) => late.isSubsetOf(new Set(seen)));
    t.same(sorted([...reader.seen, ...other.seen]).at(-1), all.at(-1));
    const byHand = new Set([...reader.seen, ...other.seen]);
    // What the other had taken and told nobody of was in its last batch; all else was seen here or there.
    const missing = all.filter((id) => !byHand.has(id));
    t.same(missing, [], 'seen by one of them');
    await reader.stop();
  },
);

t.test('what a reader that leaves had handled does not come again to those who stay', async (t) => {
  const { channel, settings } = await setup('leaving', 4);
  const [first, second] = [openLog(t, cluster, settings), openLog(t, cluster, settings)];
  const [staying, leaving] = [new Reader(first, channel), new Reader(second, channel)];
  let published = 0;
  const publish = async (): Promise<readonly number[]> => {
    const ids = upTo(20).map((n) => published + n);
    published += ids.length;
    await first.publish(events(channel, ids), signal);
    const isRead = () => new Set(ids).isSubsetOf(new Set([...staying.seen, ...leaving.seen]));
    await Promise.race([staying.until(isRead), leaving.until(isRead)]);
    return ids;
  };
  while (leaving.seen.length === 0 || staying.seen.length === 0) await publish();
  const counted = new Set(await publish());
  const handled = new Set(leaving.seen).intersection(counted);
  await leaving.stop();
  await publish();
  t.not(handled.size, 0, 'it had handled some');
  t.same(new Set(staying.seen).intersection(handled), new Set(), 'and they do not come again');
  await staying.stop();
});

t.test('a reader that is stopped while it handles, longer than its session, commits that and leaves', async (t) => {
  const { channel, settings } = await setup('stopping', 1);
  const [first, second] = [openLog(t, cluster, settings), openLog(t, cluster, settings)];
  await first.publish(events(channel, [1]), signal);
  const release = Promise.withResolvers<void>();
  const slow = new Reader(first, channel, () => release.promise);
  await slow.until(({ length }) => length === 1);
  let hasStopped = false;
  const stopped = slow.stop().then(() => {
    hasStopped = true;
  });
  await systemClock.sleep(6_000);
  t.equal(hasStopped, false, 'it waits for what it handles');
  release.resolve();
  await stopped;
  await first.publish(events(channel, [2]), signal);
  const next = new Reader(second, channel);
  await next.until((seen) => seen.includes(2));
  t.same([slow.seen, next.seen], [[1], [2]]);
  await next.stop();
});

t.test('what was taken from a reader that hangs is not committed by it later', async (t) => {
  const { channel, settings } = await setup('hanging', 1);
  const [first, second, third] = [1, 2, 3].map(() => openLog(t, cluster, settings));
  if (!first || !second || !third) throw new Error('three logs');
  await first.publish(events(channel, [1, 2, 3]), signal);
  const release = Promise.withResolvers<void>();
  const hanging = new Reader(first, channel, () => release.promise);
  await hanging.until(({ length }) => length === 3);
  // The group waits for the first as long as members may take, then goes on without it.
  const next = new Reader(second, channel, () => Promise.reject(new Error('not yet')));
  await next.until(({ length }) => length >= 3);
  release.resolve();
  await hanging.stop();
  await next.stop();
  const last = new Reader(third, channel);
  await last.until(({ length }) => length === 3);
  t.same(last.seen, [1, 2, 3], 'nobody had committed them');
  await last.stop();
});

t.test('a reader says that it joined, and nothing louder, when all is well', async (t) => {
  const { channel, settings } = await setup('quiet', 1);
  const lines: { level: string; msg: string }[] = [];
  const file = join(t.testdir(), 'log');
  const log = openLog(t, cluster, settings, {}, createLogger({ level: 'info', to: { file } }));
  await log.publish(events(channel, [1]), signal);
  const reader = new Reader(log, channel);
  await reader.until(({ length }) => length === 1);
  await reader.stop();
  const { readFileSync } = await import('node:fs');
  for (const line of readFileSync(file, 'utf8').trim().split('\n')) lines.push(JSON.parse(line));
  t.same(
    lines.map(({ level, msg }) => [level, msg]),
    [['info', 'joined the consumer group of the event log']],
  );
});
