import { randomUUID } from 'node:crypto';
import t from 'tap';
import { EventIds } from '../../engine/adapters/events/postgres-log.ts';
import { KafkaEventLog } from '../../engine/adapters/kafka/kafka-log.ts';
import type { ChannelFilter, EventLog, EventRecord } from '../../engine/ports/event-log.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { eventLogConformance } from '../conformance/event-log.ts';
import { cacheDatabase, engineProcess } from '../support/engine-process.ts';
import { KafkaCluster } from './kafka.ts';
import { kafkaSettings } from './kafka-settings.ts';

// Most of each is waiting for a group to form: side by side they wait once.
t.jobs = 6;
const CHANNELS = ['install', 'shared', 'elsewhere'];
const at = await cacheDatabase(t);
const { db } = await engineProcess(t, at);
const cluster = await KafkaCluster.start(t);

/** Its channels, on topics that begin with a name of their own: one broker serves every fact of the suite. */
class OwnTopics implements EventLog {
  readonly #log: KafkaEventLog;
  readonly #prefix: string;

  constructor(log: KafkaEventLog, prefix: string) {
    this.#log = log;
    this.#prefix = prefix;
  }

  publish(records: readonly EventRecord[], signal: AbortSignal): Promise<void> {
    return this.#log.publish(records.map(this.#there), signal);
  }

  consume(
    wanted: readonly ChannelFilter[],
    handle: (records: readonly EventRecord[]) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const back = ({ channel, ...record }: EventRecord) => ({ channel: channel.slice(this.#prefix.length), ...record });
    return this.#log.consume(wanted.map(this.#there), (records) => handle(records.map(back)), signal);
  }

  nextEventId(signal: AbortSignal): Promise<number> {
    return this.#log.nextEventId(signal);
  }

  readonly #there = <Named extends { readonly channel: string }>(named: Named): Named => ({
    ...named,
    channel: `${this.#prefix}${named.channel}`,
  });
}

eventLogConformance('KafkaEventLog', async (t) => {
  const groupId = randomUUID();
  const prefix = `${groupId}-`;
  await Promise.all(CHANNELS.map((channel) => cluster.createTopic(`${prefix}${channel}`, 1)));
  let dropped = 0;
  const observer = {
    onDropped: (_channel: string, count: number) => {
      dropped += count;
    },
    onMalformed: () => undefined,
    onTaken: () => undefined,
    onLag: () => undefined,
  };
  const settings = kafkaSettings(cluster, { consumers: { groupId } });
  const open = (): KafkaEventLog => {
    const log = new KafkaEventLog(settings, new EventIds(db), observer, systemClock, silentLogger());
    t.teardown(() => log[Symbol.asyncDispose]());
    return log;
  };
  const [first, second] = [open(), open()];
  return {
    first: new OwnTopics(first, prefix),
    second: new OwnTopics(second, prefix),
    killSecond: () => second[Symbol.asyncDispose](),
    hurry: async () => undefined,
    dropped: () => dropped,
  };
});
