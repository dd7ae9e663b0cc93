// Publishes events to Kafka: acknowledged by all in-sync replicas, retried within the delivery timeout. A publish that failed,
// or whose response was lost, may have been written, so events may be duplicated.

import { type PartitionerArgs, Partitioners, type Producer } from 'kafkajs';
import type { EventRecord } from '../../ports/event-log.ts';
import { Failure, messageOf } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import { Backoff } from '../../runtime/retry.ts';
import { type Clock, deadline } from '../../runtime/time.ts';
import { settledWithin, unlessAborted } from '../../runtime/wait.ts';
import type { KafkaAdmin } from './kafka-admin.ts';
import { batches } from './kafka-batches.ts';
import { KafkaClient } from './kafka-client.ts';
import { COMPRESSION } from './kafka-codecs.ts';
import { kafkaFailure } from './kafka-failure.ts';
import { encodeEvent } from './kafka-message.ts';
import { type KafkaSettings, producerClient, producerOptions } from './kafka-options.ts';

const CLOSE_MS = 1_000;

/** The dataset determines the partition: events of one dataset stay in order, whatever their key. */
interface EventMessage {
  readonly key: string;
  readonly value: string;
  readonly dataset: string;
}

export class KafkaPublisher implements AsyncDisposable {
  readonly #settings: KafkaSettings;
  readonly #admin: KafkaAdmin;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #client: KafkaClient;
  #producer: Promise<Producer> | undefined;

  constructor(settings: KafkaSettings, admin: KafkaAdmin, clock: Clock, log: Logger) {
    this.#settings = settings;
    this.#admin = admin;
    this.#clock = clock;
    this.#log = log;
    this.#client = new KafkaClient(producerClient(settings), log);
  }

  /** Resolves when every record is acknowledged. `transient` when that took longer than the delivery timeout. */
  async publish(records: readonly EventRecord[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { deliveryTimeoutMs, maxRequestSize } = this.#settings.producers;
    const topics = [...new Set(records.map(({ channel }) => channel))];
    const what = `publish to ${topics.join(', ')}`;
    let last: Failure | undefined;
    const late = (): Failure =>
      new Failure(
        'transient',
        `${what}: not acknowledged within ${deliveryTimeoutMs} ms${last ? `; ${last.message}` : ''}`,
        {
          cause: last,
          unreachable: last?.unreachable ?? true,
        },
      );
    using limit = deadline(this.#clock, deliveryTimeoutMs, signal, late);
    const failed = (error: unknown): Failure => {
      last = kafkaFailure(what, error);
      return last;
    };
    for (const batch of batches(records, maxRequestSize)) await this.#deliver(batch, failed, limit.signal);
  }

  async #deliver(
    batch: readonly EventRecord[],
    failed: (error: unknown) => Failure,
    signal: AbortSignal,
  ): Promise<void> {
    const { sendRetries, retryBackoffTimeMs, reconnectBackoffMaxTimeMs } = this.#settings.producers;
    const longest = Math.max(retryBackoffTimeMs, reconnectBackoffMaxTimeMs);
    const backoff = new Backoff({ baseMs: retryBackoffTimeMs, maxMs: longest });
    for (let repeats = 0; ; repeats++) {
      try {
        await this.#admin.ensure([...new Set(batch.map(({ channel }) => channel))], signal);
        return await unlessAborted(this.#send(batch), signal);
      } catch (error) {
        signal.throwIfAborted();
        const failure = failed(error);
        if (failure.kind !== 'transient' || repeats >= sendRetries) throw failure;
        this.#log.debug({ err: messageOf(failure), repeats }, 'events were not acknowledged; retrying');
        await this.#clock.sleep(backoff.failed(), signal);
      }
    }
  }

  async #send(batch: readonly EventRecord[]): Promise<void> {
    const producer = await this.#connected();
    const { compressionType, requestTimeoutMs } = this.#settings.producers;
    const byTopic = Map.groupBy(batch, ({ channel }) => channel);
    await producer.sendBatch({
      acks: -1,
      timeout: requestTimeoutMs,
      compression: COMPRESSION[compressionType],
      topicMessages: [...byTopic].map(([topic, records]) => ({ topic, messages: records.map(messageFor) })),
    });
  }

  #connected(): Promise<Producer> {
    this.#producer ??= (async () => {
      const producer = this.#client.kafka.producer({ ...producerOptions(), createPartitioner: byDataset });
      await producer.connect();
      return producer;
    })();
    this.#producer.catch(() => {
      this.#producer = undefined;
    });
    return this.#producer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.#producer?.then((producer) => producer.disconnect());
    if (closed) await settledWithin(this.#clock, CLOSE_MS, closed);
    this.#client.cut();
  }
}

const messageFor = ({ key, event }: EventRecord): EventMessage => ({
  key,
  value: encodeEvent(event),
  dataset: event.datasetID,
});

/** The hash that other Kafka clients use for keys, over all current partitions of the topic. */
function byDataset(): (args: PartitionerArgs) => number {
  const partitionOf = Partitioners.DefaultPartitioner();
  return ({ message, ...args }) => {
    const key = (message as unknown as EventMessage).dataset;
    return partitionOf({ ...args, message: { ...message, key } });
  };
}
