// Where the object stores of tests announce its changes.

import { type Channel, connect } from 'amqplib';
import type { RabbitMq } from './rabbitmq.ts';

export const OBJECT_CHANGES = {
  exchange: 'object-changes',
  queue: 'object-changes-of-longshore',
  key: 'changes',
} as const;

/** The store publishes into the exchange from the first object on; the queue keeps what comes before anybody reads. */
export async function declareObjectChanges({ port }: RabbitMq): Promise<void> {
  const model = await connect(`amqp://127.0.0.1:${port}`);
  const channel: Channel = await model.createChannel();
  const { exchange, queue, key } = OBJECT_CHANGES;
  await channel.assertExchange(exchange, 'topic', { durable: true });
  await channel.assertQueue(queue, { durable: true });
  await channel.bindQueue(queue, exchange, key);
  await model.close();
}
