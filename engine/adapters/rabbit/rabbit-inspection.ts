// Checks whether exchange and queue exist in RabbitMQ as configured; declares nothing new.

import type { Channel, ChannelModel } from 'amqplib';
import type { Logger } from '../../runtime/log.ts';
import type { Clock } from '../../runtime/time.ts';
import { type RabbitOptions, RabbitSession } from './rabbit-session.ts';

/** `locked`: exclusive to another connection. `refused`: our user has no permission. */
export type Declared = 'as-configured' | 'missing' | 'different' | 'locked' | 'refused';

interface RabbitInspection {
  readonly exchange: Declared;
  readonly queue: Declared;
  /** Messages that wait in the queue; 0 if it could not be read. */
  readonly messages: number;
}

/** Reply codes of the broker (AMQP 0-9-1). */
const REPLIES: Readonly<Record<number, Declared>> = { 403: 'refused', 404: 'missing', 405: 'locked', 406: 'different' };

/** @throws Failure like {@link RabbitSession.open} */
export function inspectRabbit(
  options: RabbitOptions,
  clock: Clock,
  log: Logger,
  signal: AbortSignal,
): Promise<RabbitInspection> {
  const { exchange, queue } = options;
  const work = async (model: ChannelModel): Promise<RabbitInspection> => {
    let messages = 0;
    const exchangeIs = await declared(
      model,
      (channel) => channel.checkExchange(exchange.name),
      (channel) => {
        const { durable, autoDelete, arguments: args } = exchange;
        return channel.assertExchange(exchange.name, exchange.type, { durable, autoDelete, arguments: args });
      },
    );
    const queueIs = await declared(
      model,
      async (channel) => {
        messages = (await channel.checkQueue(queue.name)).messageCount;
      },
      (channel) => {
        const { durable, autoDelete, exclusive, arguments: args } = queue;
        return channel.assertQueue(queue.name, { durable, autoDelete, exclusive, arguments: args });
      },
    );
    return { exchange: exchangeIs, queue: queueIs, messages };
  };
  return RabbitSession.visit(options, work, clock, log, signal);
}

/**
 * First checks that the object exists, then compares its settings. The broker compares them when the object is declared again,
 * which changes nothing.
 */
async function declared(
  model: ChannelModel,
  look: (channel: Channel) => Promise<unknown>,
  compare: (channel: Channel) => Promise<unknown>,
): Promise<Declared> {
  for (const ask of [look, compare]) {
    // The broker closes a channel on which a request failed.
    const channel = await model.createChannel();
    channel.on('error', () => undefined);
    try {
      await ask(channel);
      await channel.close();
    } catch (error) {
      const reply = REPLIES[Number((error as { readonly code?: unknown }).code)];
      if (reply === undefined) throw error;
      return reply;
    }
  }
  return 'as-configured';
}
