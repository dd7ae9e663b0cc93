// Where the object stores of tests announce their changes.

import { type Channel, connect } from 'amqplib';
import type { Client } from 'minio';
import type { RabbitMq } from './rabbitmq.ts';
import type { S3Server } from './s3-options.ts';

export const OBJECT_CHANGES = {
  exchange: 'object-changes',
  queue: 'object-changes-of-longshore',
  key: 'changes',
} as const;

export interface AnnouncingStore extends S3Server {
  client(): Client;
}

/** Starts a store, beside RabbitMQ where it can, with a bucket whose changes go to {@link OBJECT_CHANGES}. */
export type StartStore<Store extends AnnouncingStore = AnnouncingStore> = (
  t: { teardown(fn: () => unknown): void },
  rabbit: Promise<RabbitMq>,
) => Promise<{ readonly store: Store; readonly bucket: string }>;

/** The store publishes into the exchange from the first object on; the queue keeps what comes before anybody reads. */
export async function declareObjectChanges(rabbit: RabbitMq | Promise<RabbitMq>): Promise<RabbitMq> {
  const broker = await rabbit;
  const model = await connect(`amqp://127.0.0.1:${broker.port}`);
  const channel: Channel = await model.createChannel();
  const { exchange, queue, key } = OBJECT_CHANGES;
  await channel.assertExchange(exchange, 'topic', { durable: true });
  await channel.assertQueue(queue, { durable: true });
  await channel.bindQueue(queue, exchange, key);
  await model.close();
  return broker;
}
