// Checks of the brokers: Kafka and RabbitMQ.

import { KafkaAdmin } from '../../../engine/adapters/kafka/kafka-admin.ts';
import { isLoginRefused } from '../../../engine/adapters/kafka/kafka-client.ts';
import type { KafkaSettings } from '../../../engine/adapters/kafka/kafka-options.ts';
import { type Declared, inspectRabbit } from '../../../engine/adapters/rabbit/rabbit-inspection.ts';
import type { RabbitOptions } from '../../../engine/adapters/rabbit/rabbit-session.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { type Check, fault, hostPort, networkFix, type Problem } from './check.ts';

// Checks Kafka: a broker responds, and the lanes' topics exist or the service can create them.

/** Suggested partitions of a topic that an operator creates: the number of processes that can share a lane. */
const PARTITIONS = 6;
const KAFKA_KEY = 'installer.logBroker';

export function kafkaCheck(settings: KafkaSettings, topics: readonly string[], clock: Clock): Check {
  const servers = settings.servers.map(hostPort);
  return {
    name: 'log broker',
    where: servers.join(', '),
    tried: `look up the topics of the lanes`,
    async look(signal) {
      await using admin = new KafkaAdmin(settings, clock, silentLogger());
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
      (isLoginRefused(error)
        ? `correct ${KAFKA_KEY}.sasl: mechanism, username and password; kafka-configs.sh --describe --entity-type users lists the accounts that log in by SCRAM`
        : undefined) ??
      networkFix(error, {
        server: 'Kafka',
        key: `${KAFKA_KEY}.servers`,
        tls: { switch: `${KAFKA_KEY}.tls`, options: `${KAFKA_KEY}.tlsOptions` },
      }) ??
      `start Kafka, or correct ${KAFKA_KEY}.servers; its advertised.listeners must be addresses that this machine reaches; check ${KAFKA_KEY}.tls, and ${KAFKA_KEY}.sasl if clients have to log in`,
  };
}

// Checks RabbitMQ: login; exchange and queue are as configured, or the service will declare them.

const RABBIT_KEY = 'installer.queueBroker.global';

export function rabbitCheck(options: RabbitOptions, clock: Clock): Check {
  const { exchange, queue } = options;
  return {
    name: 'queue broker',
    where: hostPort(options),
    tried: 'log in, look for exchange and queue',
    async look(signal) {
      const found = await inspectRabbit(options, clock, silentLogger(), signal);
      const missing = [
        ...(found.exchange === 'missing' ? [`exchange ${exchange.name}`] : []),
        ...(found.queue === 'missing' ? [`queue ${queue.name}`] : []),
      ];
      const says =
        missing.length > 0 ? `created at the first start: ${missing.join(', ')}` : `${found.messages} messages waiting`;
      return {
        says,
        problems: [
          ...problemsOf(found.exchange, `exchange ${exchange.name}`, `${RABBIT_KEY}.exchange`, options.username),
          ...problemsOf(found.queue, `queue ${queue.name}`, `${RABBIT_KEY}.queue`, options.username),
        ],
      };
    },
    explain: (error) =>
      networkFix(error, {
        server: 'RabbitMQ',
        key: `${RABBIT_KEY}.connection.server`,
        tls: { switch: `${RABBIT_KEY}.connection.tls`, options: `${RABBIT_KEY}.connection.tlsOptions` },
      }) ??
      `correct ${RABBIT_KEY}.connection.username and password, or rabbitmqctl add_user and set_permissions; check ${RABBIT_KEY}.connection.tls; the user guest can only log in from the broker's own machine`,
  };
}

function problemsOf(found: Declared, what: string, key: string, user: string): readonly Problem[] {
  switch (found) {
    case 'different':
      return [
        fault(
          `${what} exists with different settings`,
          `change ${key} to match the broker, or delete it there so that it is created again`,
        ),
      ];
    case 'refused':
      return [
        fault(
          `user ${user} has no permission for ${what}`,
          `rabbitmqctl set_permissions ${user} with configure, write and read on it`,
        ),
      ];
    // Exclusive to one process, such as a running process of this service.
    case 'locked':
    case 'missing':
    case 'as-configured':
      return [];
    default:
      return found satisfies never;
  }
}
