// One connection to RabbitMQ that consumes one queue: declares exchange, queue and binding, and takes messages with manual
// acknowledgment. It ends permanently when the connection, the channel or the consumer fails.
//
//   open  --next-->  messages in hand  --done / refuse-->  gone from the broker
//   open  --any failure or dispose-->  over: messages that were not acknowledged are delivered again to the next consumer

import { type Channel, type ChannelModel, type ConsumeMessage, connect } from 'amqplib';
import { messageOf, transient } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import { type Clock, deadline } from '../../runtime/time.ts';
import { settledWithin, unlessAborted } from '../../runtime/wait.ts';

export interface RabbitOptions {
  /** Shown in the broker's list of connections. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
  /** Undefined = not encrypted. */
  readonly tls?: { readonly rejectUnauthorized: boolean; readonly ca?: string } | undefined;
  /** For connecting and declaring, in milliseconds. */
  readonly timeoutMs: number;
  /** A broker that is silent for twice this time is considered gone; default 10. */
  readonly heartbeatSeconds?: number;
  readonly exchange: Declared & { readonly type: 'direct' | 'fanout' | 'topic' };
  readonly queue: Declared & { readonly exclusive: boolean };
  readonly routing: { readonly key: string; readonly arguments: Arguments };
}

type Arguments = Readonly<Record<string, string>>;

interface Declared {
  readonly name: string;
  readonly durable: boolean;
  readonly autoDelete: boolean;
  readonly arguments: Arguments;
}

/** How many messages the broker delivers before one is acknowledged. Bounds the memory of waiting messages. */
export const PREFETCH = 500;
const HEARTBEAT_S = 10;
const CLOSE_MS = 2_000;

export class RabbitSession implements AsyncDisposable {
  readonly #log: Logger;
  readonly #clock: Clock;
  /** Destroys the socket. */
  readonly #cut: AbortController;
  readonly #model: ChannelModel;
  readonly #over = new AbortController();
  readonly #waiting: ConsumeMessage[] = [];
  #channel: Channel | undefined;
  #tag: string | undefined;
  #arrived = Promise.withResolvers<void>();

  /** @throws Failure `transient` when the broker cannot be reached or rejects the login; the message says what to check */
  static async open(options: RabbitOptions, clock: Clock, log: Logger, signal: AbortSignal): Promise<RabbitSession> {
    return RabbitSession.#connected(options, (session) => session.#declare(options), clock, log, signal);
  }

  /** Logs in and disconnects. Fails like {@link RabbitSession.open}. */
  static async reach(options: RabbitOptions, clock: Clock, log: Logger, signal: AbortSignal): Promise<void> {
    await using _session = await RabbitSession.#connected(options, async () => undefined, clock, log, signal);
  }

  /** Logs in, does the work on the connection, and disconnects. Fails like {@link RabbitSession.open}. */
  static async visit<Result>(
    options: RabbitOptions,
    work: (model: ChannelModel) => Promise<Result>,
    clock: Clock,
    log: Logger,
    signal: AbortSignal,
  ): Promise<Result> {
    const result = Promise.withResolvers<Result>();
    const begin = async (session: RabbitSession): Promise<void> => result.resolve(await work(session.#model));
    await using _session = await RabbitSession.#connected(options, begin, clock, log, signal);
    return await result.promise;
  }

  static async #connected(
    options: RabbitOptions,
    begin: (session: RabbitSession) => Promise<void>,
    clock: Clock,
    log: Logger,
    signal: AbortSignal,
  ): Promise<RabbitSession> {
    const late = (): Error => unreachable(options, `no response within ${options.timeoutMs} ms`);
    using limit = deadline(clock, options.timeoutMs, signal, late);
    const cut = new AbortController();
    const giveUp = (): void => cut.abort(limit.signal.reason);
    if (limit.signal.aborted) giveUp();
    limit.signal.addEventListener('abort', giveUp, { once: true });
    try {
      const model = await unlessAborted(connected(options, cut.signal), limit.signal);
      const session = new RabbitSession(model, cut, clock, log);
      try {
        await unlessAborted(unlessAborted(begin(session), session.over), limit.signal);
      } catch (error) {
        await session[Symbol.asyncDispose]();
        throw error;
      }
      return session;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw error === limit.signal.reason ? error : unreachable(options, messageOf(error), error);
    } finally {
      limit.signal.removeEventListener('abort', giveUp);
    }
  }

  private constructor(model: ChannelModel, cut: AbortController, clock: Clock, log: Logger) {
    this.#model = model;
    this.#cut = cut;
    this.#clock = clock;
    this.#log = log;
    model.on('error', (error) => this.#lose(error));
    model.on('close', (error) => this.#lose(error ?? new Error('the connection was closed')));
    model.on('blocked', (reason) => log.warn({ reason }, 'the queue broker is low on memory or disk space'));
    model.on('unblocked', () => log.info('the queue broker has enough memory and disk space again'));
  }

  /** Aborts on any failure, with the reason. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** At least one message, at most `limit`, in the order of their delivery. */
  async next(limit: number, signal: AbortSignal): Promise<readonly ConsumeMessage[]> {
    while (this.#waiting.length === 0) {
      this.over.throwIfAborted();
      await unlessAborted(this.#arrived.promise, signal);
      this.#arrived = Promise.withResolvers();
    }
    return this.#waiting.splice(0, limit);
  }

  /** Acknowledges the message and all that were delivered before it. Sent at once; lost if the connection breaks. */
  done(last: ConsumeMessage): void {
    if (!this.over.aborted) this.#channel?.ack(last, true);
  }

  /** The broker moves it to the queue's dead-letter exchange, or drops it if there is none. */
  refuse(message: ConsumeMessage): void {
    if (!this.over.aborted) this.#channel?.nack(message, false, false);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closing = (async () => {
      if (this.over.aborted) return;
      // Stops deliveries. When the broker answers the close, it has processed everything that we sent before.
      if (this.#tag !== undefined) await this.#channel?.cancel(this.#tag);
      await this.#channel?.close();
      await this.#model.close();
    })();
    const closed = await settledWithin(this.#clock, CLOSE_MS, closing);
    closing.catch(() => undefined);
    if (!closed) this.#log.warn({ closeMs: CLOSE_MS }, 'the queue broker did not confirm the disconnect in time');
    this.#lose(new Error('closed'));
    this.#cut.abort(new Error('closed'));
  }

  async #declare({ exchange, queue, routing }: RabbitOptions): Promise<void> {
    const channel = await this.#model.createChannel();
    this.#channel = channel;
    channel.on('error', (error) => this.#lose(error));
    channel.on('close', () => this.#lose(new Error('the channel was closed')));
    const { durable, autoDelete } = exchange;
    await channel.assertExchange(exchange.name, exchange.type, { durable, autoDelete, arguments: exchange.arguments });
    await channel.assertQueue(queue.name, {
      durable: queue.durable,
      autoDelete: queue.autoDelete,
      exclusive: queue.exclusive,
      arguments: queue.arguments,
    });
    await channel.bindQueue(queue.name, exchange.name, routing.key, routing.arguments);
    await channel.prefetch(PREFETCH);
    const { consumerTag } = await channel.consume(queue.name, (message) => this.#take(message));
    this.#tag = consumerTag;
  }

  #take(message: ConsumeMessage | null): void {
    if (message === null) {
      this.#lose(new Error('the broker ended the consumer: was the queue deleted?'));
      return;
    }
    this.#waiting.push(message);
    this.#arrived.resolve();
  }

  #lose(error: Error): void {
    if (this.over.aborted) return;
    this.#waiting.length = 0;
    this.#over.abort(transient(`the queue broker: ${error.message}`, { cause: error, unreachable: true }));
    this.#arrived.resolve();
  }
}

function connected(options: RabbitOptions, cut: AbortSignal): Promise<ChannelModel> {
  const { name, host, port, username, password, tls, timeoutMs, heartbeatSeconds = HEARTBEAT_S } = options;
  const socket = {
    timeout: timeoutMs,
    noDelay: true,
    clientProperties: { connection_name: name, product: 'longshore' },
    signal: cut,
    ...tls,
  };
  const protocol = tls ? 'amqps' : 'amqp';
  const at = { protocol, hostname: host, port, username, password, heartbeat: heartbeatSeconds };
  const opening = connect(at, socket);
  // If the caller gave up waiting, later errors of the connection are ignored.
  opening.then(
    (model) => model.on('error', () => undefined),
    () => undefined,
  );
  return opening;
}

function unreachable({ host, port }: RabbitOptions, why: string, cause?: unknown): Error {
  // The broker's reply when the name exists with different settings.
  if (/PRECONDITION[_-]FAILED/.test(why)) {
    const hint = 'change the configuration to match the broker, or delete it there';
    return transient(`queue broker ${host}:${port}: ${why}; ${hint}`, { cause });
  }
  if (/ACCESS[_-]REFUSED/.test(why))
    return transient(`queue broker ${host}:${port} rejects the user: ${why}`, { cause });
  return transient(`queue broker ${host}:${port}: ${why}`, { cause, unreachable: true });
}
