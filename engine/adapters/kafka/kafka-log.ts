// The event log on Kafka: a channel is a topic, and the lane's event key is the key of its records. A consumer is one group
// member for all its channels. A lost membership is started again as long as it is wanted.

import type { ChannelFilter, EventLog, EventRecord } from '../../ports/event-log.ts';
import { aborted } from '../../runtime/failure.ts';
import { JoinedSignal } from '../../runtime/joined-signal.ts';
import type { Logger } from '../../runtime/log.ts';
import { type Backoff, DELAYS, persisting } from '../../runtime/retry.ts';
import type { Clock } from '../../runtime/time.ts';
import { settledWithin } from '../../runtime/wait.ts';
import type { EventIds } from '../events/postgres-log.ts';
import { KafkaAdmin } from './kafka-admin.ts';
import { KafkaMembership, type PartitionBatch } from './kafka-membership.ts';
import type { KafkaSettings } from './kafka-options.ts';
import { decodeEvent, KafkaPublisher } from './kafka-publisher.ts';

/** For consumers to end by themselves when the log is closed. */
const CLOSE_MS = 2_000;
/** How often the cluster is asked for the lag. */
const LAG_MS = 15_000;

/** Counters for the messages of a channel. */
export interface KafkaLogObserver {
  /** Messages with a key that no lane consumes. */
  readonly onDropped: (channel: string, count: number) => void;
  /** Messages that are not valid events. */
  readonly onMalformed: (channel: string, count: number) => void;
  /** Events that were handed over and accepted. */
  readonly onTaken: (filter: ChannelFilter, count: number) => void;
  /** Messages of a partition that the group has not committed. */
  readonly onLag: (channel: string, partition: number, messages: number) => void;
}

/** Without duplicates. */
interface WantedKey extends ChannelFilter {
  readonly bytes: Buffer;
}

interface Sorted {
  readonly records: readonly EventRecord[];
  readonly malformed: readonly string[];
  readonly dropped: number;
}

const NO_KEY = Buffer.alloc(0);

export class KafkaEventLog implements EventLog, AsyncDisposable {
  readonly #settings: KafkaSettings;
  readonly #observer: KafkaLogObserver;
  readonly #ids: EventIds;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #admin: KafkaAdmin;
  readonly #publisher: KafkaPublisher;
  readonly #closed = new AbortController();
  readonly #ended = new AbortController();
  readonly #consumers = new Set<Promise<void>>();

  constructor(settings: KafkaSettings, ids: EventIds, observer: KafkaLogObserver, clock: Clock, log: Logger) {
    this.#settings = settings;
    this.#observer = observer;
    this.#ids = ids;
    this.#clock = clock;
    this.#log = log;
    this.#admin = new KafkaAdmin(settings, clock, log);
    this.#publisher = new KafkaPublisher(settings, this.#admin, clock, log);
  }

  publish(records: readonly EventRecord[], signal: AbortSignal): Promise<void> {
    return this.#publisher.publish(records, signal);
  }

  async consume(
    wanted: readonly ChannelFilter[],
    handle: (records: readonly EventRecord[]) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    using until = new JoinedSignal(signal, this.#closed.signal);
    const consuming = this.#consume(wanted, handle, until.signal);
    this.#consumers.add(consuming);
    await consuming.finally(() => this.#consumers.delete(consuming));
  }

  nextEventId(signal: AbortSignal): Promise<number> {
    return this.#ids.next(signal);
  }

  /** Resolves when a broker responds. */
  probe(signal: AbortSignal): Promise<void> {
    return this.#admin.probe(signal);
  }

  async #consume(
    wanted: readonly ChannelFilter[],
    handle: (records: readonly EventRecord[]) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const topics = [...new Set(wanted.map(({ channel }) => channel))];
    const keys = wantedKeys(wanted);
    const read = async (backoff: Backoff): Promise<void> => {
      while (!signal.aborted) {
        await this.#admin.ensure(topics, signal);
        const membership = new KafkaMembership({
          settings: this.#settings,
          topics,
          handle: (batch) => this.#handOver(batch, keys, handle),
          onJoined: () => backoff.succeeded(),
          clock: this.#clock,
          log: this.#log,
        });
        await membership.run(signal, this.#ended.signal);
      }
    };
    const failed = (err: unknown): void => this.#log.warn({ err, topics }, 'the event log cannot be read; retrying');
    const looking = this.#watchLag(topics, signal);
    await persisting(DELAYS.costly, this.#clock, read, failed, signal);
    await looking;
  }

  /** Until the signal. Never rejects: whether Kafka responds is told by `probe`. */
  async #watchLag(topics: readonly string[], signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        for (const { topic, partition, messages } of await this.#admin.lag(topics, signal))
          this.#observer.onLag(topic, partition, messages);
      } catch (err) {
        if (!signal.aborted) this.#log.debug({ err, topics }, 'the lag of the event log is not known now');
      }
      await this.#clock.sleep(LAG_MS, signal).catch(() => undefined);
    }
  }

  async #handOver(
    batch: PartitionBatch,
    wanted: readonly WantedKey[],
    handle: (records: readonly EventRecord[]) => Promise<void>,
  ): Promise<void> {
    const { topic, partition } = batch;
    const { records, malformed, dropped } = eventsOf(
      batch,
      wanted.filter(({ channel }) => channel === topic),
    );
    if (records.length > 0) await handle(records);
    for (const { key } of wanted) {
      const taken = records.filter((record) => record.key === key).length;
      if (taken > 0) this.#observer.onTaken({ channel: topic, key }, taken);
    }
    if (malformed.length > 0) {
      this.#observer.onMalformed(topic, malformed.length);
      const fields = { topic, partition, count: malformed.length, first: malformed[0] };
      this.#log.error(fields, 'messages that are not valid events were skipped');
    }
    if (dropped > 0) this.#observer.onDropped(topic, dropped);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort(aborted('the event log is closed'));
    await settledWithin(this.#clock, CLOSE_MS, Promise.allSettled(this.#consumers));
    this.#ended.abort(aborted('the event log is closed'));
    await this.#publisher[Symbol.asyncDispose]();
    await this.#admin[Symbol.asyncDispose]();
  }
}

/** Removes duplicates: lanes may share a channel and a key. */
function wantedKeys(wanted: readonly ChannelFilter[]): readonly WantedKey[] {
  const once = new Map(wanted.map(({ channel, key }) => [`${channel} ${key}`, { channel, key }]));
  return [...once.values()].map((one) => ({ ...one, bytes: Buffer.from(one.key) }));
}

/** Splits a batch: wanted events, offsets of messages with a wanted key that are not events, and the number of all others. */
function eventsOf({ topic, messages }: PartitionBatch, wanted: readonly WantedKey[]): Sorted {
  const records: EventRecord[] = [];
  const malformed: string[] = [];
  let dropped = 0;
  for (const { key, value, offset } of messages) {
    const bytes = key ?? NO_KEY;
    // Compares the key as bytes first, so that unwanted messages are not parsed.
    const found = wanted.find((one) => one.bytes.equals(bytes));
    if (!found) {
      dropped++;
      continue;
    }
    const event = decodeEvent(value);
    if (event) records.push({ channel: topic, key: found.key, event });
    else malformed.push(offset);
  }
  return { records, malformed, dropped };
}
