import t from 'tap';
import { EventIds } from '../../engine/adapters/events/postgres-log.ts';
import { KafkaEventLog } from '../../engine/adapters/kafka/kafka-log.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { eventLogConformance } from '../conformance/event-log.ts';
import { cacheDatabase, engineProcess } from '../support/engine-process.ts';
import { KafkaCluster } from './kafka.ts';
import { kafkaSettings } from './kafka-settings.ts';

// Most of each is waiting for a group to form: side by side they wait once.
t.jobs = 6;
const at = await cacheDatabase(t);
const { db } = await engineProcess(t, at);

eventLogConformance('KafkaEventLog', async (t) => {
  const cluster = await KafkaCluster.start(t, { topics: { install: 1, shared: 1, elsewhere: 1 } });
  let dropped = 0;
  const observer = {
    onDropped: (_channel: string, count: number) => {
      dropped += count;
    },
    onMalformed: () => undefined,
    onTaken: () => undefined,
    onLag: () => undefined,
  };
  const open = (): KafkaEventLog => {
    const log = new KafkaEventLog(kafkaSettings(cluster), new EventIds(db), observer, systemClock, silentLogger());
    t.teardown(() => log[Symbol.asyncDispose]());
    return log;
  };
  const [first, second] = [open(), open()];
  return {
    first,
    second,
    killSecond: () => second[Symbol.asyncDispose](),
    hurry: async () => undefined,
    dropped: () => dropped,
  };
});
