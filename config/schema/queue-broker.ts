// `installer.queueBroker`: where the object store reports its changes. The contract's form (RabbitMQ) or our PostgreSQL
// driver, which goes with the directory store.

import { choice, driver, duration, flag, map, openAddress, optional, secret, section, text, union } from './field.ts';
import type { Loaded } from './loaded.ts';
import { tlsOptions } from './tls.ts';

export const AMQP_PORTS = { tls: 5671, plain: 5672 } as const;

const named = (description: string) => text(description, { minLength: 3 });
const table = (what: string) => optional(map(`Arguments of the ${what}.`, text('Value.')));

const connection = section('How to reach the broker.', {
  name: text("Name of our connections in the broker's own logs.", { default: 'installer' }),
  server: openAddress(`RabbitMQ server. The port defaults to ${AMQP_PORTS.tls} with TLS, ${AMQP_PORTS.plain} without.`),
  username: named('User.'),
  password: secret('Password of the user.', 3),
  tls: flag('Encrypt connections with TLS.', true),
  tlsOptions,
  timeout: duration('For connecting.', '10s', { positive: true }),
});

const exchange = section('Exchange that the object store publishes to; declared if it is missing.', {
  name: named('Name.'),
  type: choice('How it routes.', ['direct', 'fanout', 'topic'], { default: 'direct' }),
  autoDelete: flag('Goes away with its last binding.', false),
  durable: flag('Survives a restart of the broker.', true),
  arguments: table('exchange'),
});

const queue = section('Queue that the event router reads; declared if it is missing.', {
  name: named('Name.'),
  autoDelete: flag('Goes away with its last consumer.', false),
  durable: flag('Survives a restart of the broker.', true),
  exclusive: flag('For one connection only.', false),
  arguments: table('queue'),
});

const global = section('The one broker.', {
  pollInterval: duration('Accepted for compatibility.', '1s', {
    'x-ignored': 'the broker pushes messages, nothing polls',
  }),
  connection,
  exchange,
  queue,
  routing: optional(
    section('Binding of the queue to the exchange; the empty routing key when absent.', {
      key: optional(named('Routing key.')),
      arguments: table('binding'),
    }),
  ),
});

const rabbitmq = section('RabbitMQ.', { driver: driver('rabbitmq', { isDefault: true }), global });
export type RabbitConfiguration = Loaded<typeof global>;

const postgres = section('Change rows in the cache DB, written by the directory store.', {
  driver: driver('postgres'),
});

export const queueBroker = union('Changes of the object store.', [rabbitmq, postgres]);
export type QueueBrokerConfiguration = Loaded<typeof queueBroker>;
