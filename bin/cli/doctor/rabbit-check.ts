// Checks RabbitMQ: login; exchange and queue are as configured, or the service will declare them.

import { type Declared, inspectRabbit } from '../../../engine/adapters/rabbit/rabbit-inspection.ts';
import type { RabbitOptions } from '../../../engine/adapters/rabbit/rabbit-session.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { type Check, fault, hostPort, type Problem } from './check.ts';
import { networkFix } from './error-codes.ts';

const KEY = 'installer.queueBroker.global';

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
          ...problemsOf(found.exchange, `exchange ${exchange.name}`, `${KEY}.exchange`, options.username),
          ...problemsOf(found.queue, `queue ${queue.name}`, `${KEY}.queue`, options.username),
        ],
      };
    },
    explain: (error) =>
      networkFix(error, {
        server: 'RabbitMQ',
        key: `${KEY}.connection.server`,
        tls: { switch: `${KEY}.connection.tls`, options: `${KEY}.connection.tlsOptions` },
      }) ??
      `correct ${KEY}.connection.username and password, or rabbitmqctl add_user and set_permissions; check ${KEY}.connection.tls; the user guest can only log in from the broker's own machine`,
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
