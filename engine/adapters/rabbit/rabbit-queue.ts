// Changes of an S3 object store as its notifications in a queue of RabbitMQ. A message is acknowledged after all its
// changes were handled; so is everything before it. What cannot be understood goes to the queue's dead-letter exchange,
// or is dropped where there is none; it is counted and logged either way.

import type { ConsumeMessage } from 'amqplib';
import type { ObjectChange } from '../../model/event.ts';
import type { ChangeQueue } from '../../ports/event-log.ts';
import { messageOf, transient } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import { Backoff } from '../../runtime/retry.ts';
import type { Clock } from '../../runtime/time.ts';
import { settledUnless } from '../../runtime/wait.ts';
import { parseNotification } from '../events/object-notification.ts';
import { PREFETCH, type RabbitOptions, RabbitSession } from './rabbit-session.ts';

export interface RabbitQueueOptions extends RabbitOptions {
  /** Changes of other buckets are none of ours. */
  readonly bucket: string;
  readonly onIgnored: (records: number) => void;
  readonly onMalformed: () => void;
}

const BATCH = 500;
const RETRY = { baseMs: 100, maxMs: 30_000 };

export class RabbitChangeQueue implements ChangeQueue {
  readonly #options: RabbitQueueOptions;
  readonly #clock: Clock;
  readonly #log: Logger;
  #session: RabbitSession | undefined;
  /** Why there is none although one is wanted. */
  #trouble: string | undefined;

  constructor(options: RabbitQueueOptions, clock: Clock, log: Logger) {
    this.#options = options;
    this.#clock = clock;
    this.#log = log;
  }

  /** Reconnects for ever; resolves when the signal aborts. */
  async consume(handle: (changes: readonly ObjectChange[]) => Promise<void>, signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(RETRY);
    while (!signal.aborted) {
      try {
        await using session = await RabbitSession.open(this.#options, this.#clock, this.#log, signal);
        if (this.#trouble !== undefined) this.#log.info('the queue broker is back');
        this.#session = session;
        this.#trouble = undefined;
        backoff.succeeded();
        await this.#read(session, handle, signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#session = undefined;
        // Once, not at every attempt.
        if (this.#trouble === undefined) this.#log.warn({ err: error }, 'the queue broker is away; trying again');
        this.#trouble = messageOf(error);
        await this.#clock.sleep(backoff.failed(), signal).catch(() => undefined);
      } finally {
        this.#session = undefined;
      }
    }
  }

  /** Of a process that reads, whether it is connected; of another, whether it could be. */
  async probe(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#session && !this.#session.over.aborted) return;
    if (this.#trouble !== undefined) throw transient(this.#trouble, { unreachable: true });
    await RabbitSession.reach(this.#options, this.#clock, this.#log, signal);
  }

  /** Until the signal aborts; rejects when the session is over. */
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
      // A message that was refused is none that could be acknowledged.
      const last = understood.at(-1);
      if (last) session.done(last);
    }
  }

  /** Adds what the message says, or refuses it. */
  #understands(session: RabbitSession, message: ConsumeMessage, changes: ObjectChange[]): boolean {
    const notification = parseNotification(message.content, this.#options.bucket);
    if (notification.kind === 'malformed') {
      const { routingKey, exchange } = message.fields;
      const details = { why: notification.why, bytes: message.content.length, exchange, routingKey };
      this.#log.error(details, 'a message of the queue broker is no notification; it is refused');
      this.#options.onMalformed();
      session.refuse(message);
      return false;
    }
    if (notification.ignored > 0) this.#options.onIgnored(notification.ignored);
    for (const change of notification.changes) changes.push(change);
    return true;
  }

  /** Tries a refused batch again, in hand and with growing pauses, for as long as the session lasts. */
  async #taken(
    session: RabbitSession,
    handle: (changes: readonly ObjectChange[]) => Promise<void>,
    changes: readonly ObjectChange[],
    signal: AbortSignal,
  ): Promise<boolean> {
    const backoff = new Backoff(RETRY);
    for (;;) {
      try {
        await handle(changes);
        return true;
      } catch (err) {
        if (signal.aborted) return false;
        this.#log.warn({ err, changes: changes.length }, 'a batch was refused; it comes again');
      }
      await settledUnless(this.#clock.sleep(backoff.failed(), signal), session.over);
      session.over.throwIfAborted();
      if (signal.aborted) return false;
    }
  }
}
