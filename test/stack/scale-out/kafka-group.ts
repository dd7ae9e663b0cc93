// What the consumer group of an installation has not read yet.

import { loadConfiguration } from '../../../config/load.ts';
import { formatFault } from '../../../config/validate.ts';
import type { Installation } from '../installation.ts';

/** `topic partition: committed of end` for every partition that is behind. */
export async function partitionsBehind(at: Installation): Promise<readonly string[]> {
  const loaded = await loadConfiguration(at.file, { env: at.environment(1) });
  if (!loaded.ok) throw new Error(loaded.faults.map(formatFault).join('\n'));
  const { lanes, logBroker } = loaded.configuration.installer;
  if (logBroker.driver !== 'kafka') throw new Error('the event log is not in Kafka');
  const topics = Object.values(lanes).flatMap((lane) => ('eventChannel' in lane ? [lane.eventChannel] : []));
  const admin = await at.kafka.admin();
  const behind: string[] = [];
  const committed = await admin.fetchOffsets({ groupId: logBroker.consumers.groupId, topics });
  for (const topic of topics) {
    const read = new Map(
      committed.find((one) => one.topic === topic)?.partitions.map(({ partition, offset }) => [partition, offset]),
    );
    for (const { partition, high, low } of await admin.fetchTopicOffsets(topic)) {
      const offset = read.get(partition) ?? '-1';
      if (Number(high) > Math.max(Number(low), Number(offset)))
        behind.push(`${topic} ${partition}: ${offset} of ${high}`);
    }
  }
  return behind;
}
