// Changes of an S3 object store, from its notifications in a RabbitMQ queue. A message is acknowledged, with all before it,
// after all its changes were handled. A message that cannot be parsed goes to the queue's dead-letter exchange, or is dropped
// if there is none. It is counted and logged either way.

import type { ConsumeMessage } from 'amqplib';
import type { ObjectChange } from '../../model/event.ts';
import type { ChangeQueue } from '../../ports/event-log.ts';
import { messageOf, transient } from '../../runtime/failure.ts';
import { JoinedSignal } from '../../runtime/joined-signal.ts';
import type { Logger } from '../../runtime/log.ts';
import { type Backoff, DELAYS, persisting } from '../../runtime/retry.ts';
import type { Clock } from '../../runtime/time.ts';
import { parseNotification } from '../events/object-notification.ts';
import { PREFETCH, type RabbitOptions, RabbitSession } from './rabbit-session.ts';

export interface RabbitQueueOptions extends RabbitOptions {
  /** Changes of other buckets are ignored. */
  readonly bucket: string;
  readonly onIgnored: (records: number) => void;
  readonly onMalformed: () => void;
}

const BATCH = 500;

export class RabbitChangeQueue implements ChangeQueue {
  readonly #options: RabbitQueueOptions;
  readonly #clock: Clock;
  readonly #log: Logger;
  #session: RabbitSession | undefined;
  /** Why there is no session although one is wanted. */
  #trouble: string | undefined;

  constructor(options: RabbitQueueOptions, clock: Clock, log: Logger) {
    this.#options = options;
    this.#clock = clock;
    this.#log = log;
  }

  /** Reconnects forever; resolves when the signal aborts. */
  async consume(handle: (changes: readonly ObjectChange[]) => Promise<void>, signal: AbortSignal): Promise<void> {
    const read = async (backoff: Backoff): Promise<void> => {
      while (!signal.aborted)
        try {
          await using session = await RabbitSession.open(this.#options, this.#clock, this.#log, signal);
          if (this.#trouble !== undefined) this.#log.info('the queue broker is available again');
          this.#session = session;
          this.#trouble = undefined;
          backoff.succeeded();
          await this.#read(session, handle, signal);
        } finally {
          this.#session = undefined;
        }
    };
    const failed = (error: unknown): void => {
      // Once, not at every attempt.
      if (this.#trouble === undefined) this.#log.warn({ err: error }, 'the queue broker is unavailable; retrying');
      this.#trouble = messageOf(error);
    };
    await persisting(DELAYS.batch, this.#clock, read, failed, signal);
  }

  /** In the process that consumes: whether it is connected. In other processes: whether a connection can be opened. */
  async probe(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#session && !this.#session.over.aborted) return;
    if (this.#trouble !== undefined) throw transient(this.#trouble, { unreachable: true });
    await RabbitSession.reach(this.#options, this.#clock, this.#log, signal);
  }

  /** Runs until the signal aborts; rejects when the session is over. */
  async #read(
    session: RabbitSession,
    handle: (changes: readonly ObjectChange[]) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    while (!signal.aborted) {
      const messages = await session.next(PREFETCH, signal).catch((error: unknown) => {
        if (signal.aborted) return [];
        throw error;
      });
      if (messages.length === 0) return;
      const changes: ObjectChange[] = [];
      const understood = messages.filter((message) => this.#understands(session, message, changes));
      for (let from = 0; from < changes.length; from += BATCH)
        if (!(await this.#taken(session, handle, changes.slice(from, from + BATCH), signal))) return;
      // A rejected message cannot be acknowledged, so use the last one that was parsed.
      const last = understood.at(-1);
      if (last) session.done(last);
    }
  }

  /** Adds the message's changes, or rejects the message. */
  #understands(session: RabbitSession, message: ConsumeMessage, changes: ObjectChange[]): boolean {
    const notification = parseNotification(message.content, this.#options.bucket);
    if (notification.kind === 'malformed') {
      const { routingKey, exchange } = message.fields;
      const details = { why: notification.why, bytes: message.content.length, exchange, routingKey };
      this.#log.error(details, 'a message of the queue broker is not a valid notification; rejected');
      this.#options.onMalformed();
      session.refuse(message);
      return false;
    }
    if (notification.ignored > 0) this.#options.onIgnored(notification.ignored);
    for (const change of notification.changes) changes.push(change);
    return true;
  }

  /** Retries a failed batch with back-off, without returning it to the broker, for as long as the session lasts. */
  async #taken(
    session: RabbitSession,
    handle: (changes: readonly ObjectChange[]) => Promise<void>,
    changes: readonly ObjectChange[],
    signal: AbortSignal,
  ): Promise<boolean> {
    using until = new JoinedSignal(signal, session.over);
    const attempt = async (): Promise<boolean> => {
      await handle(changes);
      return true;
    };
    const failed = (err: unknown): void =>
      this.#log.warn({ err, changes: changes.length }, 'a batch was rejected; it will be delivered again');
    if (await persisting(DELAYS.batch, this.#clock, attempt, failed, until.signal)) return true;
    session.over.throwIfAborted();
    return false;
  }
}
