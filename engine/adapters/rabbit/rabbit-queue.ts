// Changes of an S3 object store, from its notifications in a RabbitMQ queue. A message is acknowledged, with all before it,
// after all its changes were handled. A message that cannot be parsed goes to the queue's dead-letter exchange, or is dropped
// if there is none. It is counted and logged either way.

import type { ConsumeMessage } from 'amqplib';
import type { ObjectChange } from '../../model/event.ts';
import { isObject } from '../../model/json.ts';
import { decodeDocument } from '../../model/utf8.ts';
import type { ChangeQueue } from '../../ports/event-log.ts';
import { messageOf, transient } from '../../runtime/failure.ts';
import { JoinedSignal } from '../../runtime/joined-signal.ts';
import type { Logger } from '../../runtime/log.ts';
import { type Backoff, DELAYS, persisting } from '../../runtime/retry.ts';
import type { Clock } from '../../runtime/time.ts';
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

// Parses notifications of S3 servers, as messages of a broker: one JSON document with `Records`. MinIO, AWS and Ceph differ
// only in the prefix of event names and in the encoding of keys.

type Notification =
  /** `ignored` counts records of other buckets and other kinds of events. */
  | { readonly kind: 'changes'; readonly changes: readonly ObjectChange[]; readonly ignored: number }
  /** Not a notification that we can parse; a retry cannot help. */
  | { readonly kind: 'malformed'; readonly why: string };

/** @param bucket changes of other buckets are ignored */
export function parseNotification(content: Uint8Array, bucket: string): Notification {
  let document: unknown;
  try {
    document = JSON.parse(decodeDocument(content) ?? '');
  } catch {
    return malformed('is not JSON');
  }
  if (!isObject(document)) return malformed('is not a JSON object');
  // Sent once when notifications are configured on AWS.
  if (document.Event === 's3:TestEvent') return { kind: 'changes', changes: [], ignored: 1 };
  if (!Array.isArray(document.Records)) return malformed('has no list `Records`');
  const changes: ObjectChange[] = [];
  for (const [at, record] of document.Records.entries()) {
    const change = changeOf(record, bucket);
    if (typeof change === 'string') return malformed(`Records[${at}]${change}`);
    if (change) changes.push(change);
  }
  return { kind: 'changes', changes, ignored: document.Records.length - changes.length };
}

/** Undefined when the record is ignored; a string says what is wrong. */
function changeOf(record: unknown, bucket: string): ObjectChange | string | undefined {
  if (!isObject(record)) return ' is not an object';
  if (typeof record.eventName !== 'string') return '.eventName is not a string';
  const kind = kindOf(record.eventName);
  const s3 = isObject(record.s3) ? record.s3 : {};
  const name = isObject(s3.bucket) ? s3.bucket.name : undefined;
  if (typeof name !== 'string') return '.s3.bucket.name is not a string';
  if (kind === undefined || name !== bucket) return undefined;
  const key = isObject(s3.object) ? s3.object.key : undefined;
  if (typeof key !== 'string' || key === '') return '.s3.object.key is not a non-empty string';
  // Ceph sends raw keys; the others form-encode them.
  if (record.eventSource === 'ceph:s3') return { kind, key };
  try {
    return { kind, key: decodeURIComponent(key.replaceAll('+', ' ')) };
  } catch {
    return '.s3.object.key is not URL-encoded';
  }
}

function kindOf(eventName: string): ObjectChange['kind'] | undefined {
  const name = eventName.replace(/^s3:/, '');
  if (name.startsWith('ObjectCreated:')) return 'created';
  return /^(?:ObjectRemoved|LifecycleExpiration|ObjectLifecycle:Expiration)\b/.test(name) ? 'removed' : undefined;
}

const malformed = (why: string): Notification => ({ kind: 'malformed', why });
