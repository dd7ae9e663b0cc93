// Publishes events to Kafka: acknowledged by all in-sync replicas, retried within the delivery timeout. A publish that failed,
// or whose response was lost, may have been written, so events may be duplicated.

import { type PartitionerArgs, Partitioners, type Producer } from 'kafkajs';
import { EVENT_SOURCES, type EventSource, type TriggerEvent } from '../../model/event.ts';
import { parseDatasetId, parseUserId, type UserId } from '../../model/ids.ts';
import { parseJson, stringifyJson } from '../../model/json.ts';
import { decodeDocument } from '../../model/utf8.ts';
import type { EventRecord } from '../../ports/event-log.ts';
import { Failure, messageOf } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import { Backoff } from '../../runtime/retry.ts';
import { type Clock, deadline } from '../../runtime/time.ts';
import { settledWithin, unlessAborted } from '../../runtime/wait.ts';
import type { KafkaAdmin } from './kafka-admin.ts';
import { COMPRESSION, KafkaClient, kafkaFailure } from './kafka-client.ts';
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

/**
 * An event as a Kafka record: the record's key is the lane's event key, its value `{eventID, userID, datasetID, source}` as
 * JSON. The user id is a JSON number with all its digits.
 */
export const encodeEvent = ({ eventID, userID, datasetID, source }: TriggerEvent): string =>
  stringifyJson({ eventID, userID, datasetID, source });

/** Undefined when the value is not an event. */
export function decodeEvent(value: Buffer | null): TriggerEvent | undefined {
  return value === null ? undefined : (plainEvent(value) ?? parsedEvent(value));
}

/** Parses any JSON spelling of an event. */
export function parsedEvent(value: Buffer): TriggerEvent | undefined {
  const found = parsed(value);
  if (typeof found !== 'object' || found === null) return undefined;
  const { eventID, userID: user, datasetID: dataset, source } = found as Record<string, unknown>;
  const userID = typeof user === 'string' ? parseUserId(user) : undefined;
  const datasetID = typeof dataset === 'string' ? parseDatasetId(dataset) : undefined;
  if (!isEventId(eventID) || userID === undefined || datasetID === undefined || !isSource(source)) return undefined;
  return { eventID, userID, datasetID, source };
}

function parsed(value: Buffer): unknown {
  try {
    return parseJson(decodeDocument(value) ?? '');
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const isEventId = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isSource = (value: unknown): value is EventSource => EVENT_SOURCES.includes(value as EventSource);

// Fast path for events in the exact spelling that we produce: members in our order, numbers without sign or
// exponent, no escapes. A regular expression takes less than half the time of a parser that preserves long integers, and
// parsing limits how fast a channel is read. Any other spelling is left to the parser.

/** Unknown members may follow, with ASCII text or whole numbers, as long as they do not repeat one of ours. */
const PLAIN =
  /^\{"eventID":(0|[1-9]\d{0,14}),"userID":([1-9]\d{0,17}),"datasetID":"([\w.-]{1,64})","source":"([a-z-]+)"(?:,"(?!(?:eventID|userID|datasetID|source)")[A-Za-z]\w*":(?:"[ !#-[\]-~]*"|0|[1-9]\d{0,14}))*\}$/;
const SOURCES: ReadonlyMap<string, EventSource> = new Map(EVENT_SOURCES.map((source) => [source, source]));

/** Undefined when the event is spelled differently. */
export function plainEvent(value: Buffer): TriggerEvent | undefined {
  // The pattern accepts only ASCII, which is the same in all encodings.
  const match = PLAIN.exec(value.toString('latin1'));
  const source = match ? SOURCES.get(match[4] as string) : undefined;
  const datasetID = parseDatasetId(match?.[3] ?? '');
  if (!match || !datasetID || source === undefined) return undefined;
  return { eventID: Number(match[1]), userID: match[2] as UserId, datasetID, source };
}

// Splits events into requests that brokers accept, by number of records and bytes.

/** Records per request; with the size of an event this stays below the brokers' default limit. */
export const BATCH = 1_000;
/** Maximum overhead of a record besides its key and value. */
export const RECORD_BYTES = 40;

/** In order. Each batch has at most {@link BATCH} records and about `maxBytes`, but at least one record. */
export function* batches(records: readonly EventRecord[], maxBytes: number): Generator<readonly EventRecord[]> {
  let batch: EventRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    const size = encodeEvent(record.event).length + record.key.length + RECORD_BYTES;
    if (batch.length >= BATCH || (batch.length > 0 && bytes + size > maxBytes)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(record);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
