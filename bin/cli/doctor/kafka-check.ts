// Checks Kafka: a broker responds, and the lanes' topics exist or the service can create them.

import { KafkaAdmin } from '../../../engine/adapters/kafka/kafka-admin.ts';
import type { KafkaSettings } from '../../../engine/adapters/kafka/kafka-options.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { type Check, fault, hostPort } from './check.ts';
import { networkFix } from './error-codes.ts';

/** Suggested partitions of a topic that an operator creates: the number of processes that can share a lane. */
const PARTITIONS = 6;
const KEY = 'installer.logBroker';

export function kafkaCheck(settings: KafkaSettings, topics: readonly string[]): Check {
  const servers = settings.servers.map(hostPort);
  return {
    name: 'log broker',
    where: servers.join(', '),
    tried: `look up the topics of the lanes`,
    async look(signal) {
      await using admin = new KafkaAdmin(settings, silentLogger());
      const { partitions, missing, refused } = await admin.inspect(topics, signal);
      const [server = ''] = servers;
      const commands = missing.map(
        (topic) => `kafka-topics.sh --bootstrap-server ${server} --create --topic ${topic} --partitions ${PARTITIONS}`,
      );
      const counts = topics.flatMap((topic) => (partitions.has(topic) ? [`${topic} ${partitions.get(topic)}`] : []));
      const says = [
        ...(counts.length > 0 ? [`partitions: ${counts.join(', ')}`] : []),
        ...(missing.length > 0 && refused === undefined ? [`created at the first start: ${missing.join(', ')}`] : []),
      ].join('; ');
      if (refused === undefined) return { says, problems: [] };
      const fix = `create them with at least one partition per process that shares a lane: ${commands.join('; ')}`;
      return {
        says,
        problems: [
          fault(`topics are missing and this client may not create them (${refused}): ${missing.join(', ')}`, fix),
        ],
      };
    },
    explain: (error) =>
      networkFix(error, {
        server: 'Kafka',
        key: `${KEY}.servers`,
        tls: { switch: `${KEY}.tls`, options: `${KEY}.tlsOptions` },
      }) ??
      `start Kafka, or correct ${KEY}.servers; its advertised.listeners must be addresses that this machine reaches; check ${KEY}.tls`,
  };
}
