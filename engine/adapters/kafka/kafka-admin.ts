// Administrative requests to a Kafka cluster: whether it responds, and whether the topics of our channels exist.

import type { Admin } from 'kafkajs';
import { Failure, messageOf } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Clock } from '../../runtime/time.ts';
import { unlessAborted } from '../../runtime/wait.ts';
import { isLoginRefused, KafkaClient } from './kafka-client.ts';
import { type KafkaSettings, producerClient, startsAtBeginning } from './kafka-options.ts';

/** Retries of a request for which the cluster's controller was not found. */
const CREATE_RETRIES = 2;
/** How often, and how far apart, brokers are asked for topics that were just made. */
const KNOWN_LOOKS = 50;
const KNOWN_LOOK_MS = 100;

interface TopicsFound {
  /** Number of partitions by topic, for the topics that exist. */
  readonly partitions: ReadonlyMap<string, number>;
  readonly missing: readonly string[];
  /** Why the service cannot create the missing topics. Undefined when it can, or when none is missing. */
  readonly refused?: string;
}

interface PartitionLag {
  readonly topic: string;
  readonly partition: number;
  readonly messages: number;
}

export class KafkaAdmin implements AsyncDisposable {
  readonly #client: KafkaClient;
  readonly #settings: KafkaSettings;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** Topics that exist, or that we cannot create; each is checked once. */
  readonly #settled = new Set<string>();
  #admin: Promise<Admin> | undefined;
  #probing: Promise<unknown> | undefined;

  constructor(settings: KafkaSettings, clock: Clock, log: Logger) {
    this.#settings = settings;
    this.#clock = clock;
    this.#log = log;
    this.#client = new KafkaClient(producerClient(settings), log);
  }

  /** Resolves when a broker responds. Concurrent callers share one request. */
  async probe(signal: AbortSignal): Promise<void> {
    this.#probing ??= this.#ask((admin) => admin.describeCluster()).finally(() => {
      this.#probing = undefined;
    });
    await unlessAborted(this.#probing, signal);
  }

  /**
   * Creates missing topics with the cluster's default number of partitions. If the cluster does not permit that, a warning is
   * logged; the cluster may still create them itself when they are first used.
   */
  async ensure(topics: readonly string[], signal: AbortSignal): Promise<void> {
    const unknown = topics.filter((topic) => !this.#settled.has(topic));
    if (unknown.length === 0) return;
    const there = new Set(
      await unlessAborted(
        this.#ask((admin) => admin.listTopics()),
        signal,
      ),
    );
    const missing = unknown.filter((topic) => !there.has(topic));
    if (missing.length > 0 && (await unlessAborted(this.#create(missing), signal))) await this.#known(missing, signal);
    for (const topic of unknown) this.#settled.add(topic);
  }

  /** What {@link ensure} would find; changes nothing. */
  async inspect(topics: readonly string[], signal: AbortSignal): Promise<TopicsFound> {
    const all = await unlessAborted(
      this.#ask((admin) => admin.listTopics()),
      signal,
    );
    const there = topics.filter((topic) => all.includes(topic));
    const missing = topics.filter((topic) => !all.includes(topic));
    // Only for topics that exist: a cluster may create a topic because a client requests its metadata.
    const described =
      there.length === 0
        ? undefined
        : await unlessAborted(
            this.#ask((admin) => admin.fetchTopicMetadata({ topics: there })),
            signal,
          );
    const partitions = new Map(described?.topics.map(({ name, partitions }) => [name, partitions.length]));
    if (missing.length === 0) return { partitions, missing };
    const refused = await unlessAborted(this.#wouldRefuse(missing), signal);
    return { partitions, missing, ...(refused === undefined ? {} : { refused }) };
  }

  /**
   * Messages that no member of the group has committed, by partition. The cluster says it, so it is right also while our own
   * members are stuck, and of partitions that nobody reads.
   */
  async lag(topics: readonly string[], signal: AbortSignal): Promise<readonly PartitionLag[]> {
    const { groupId } = this.#settings.consumers;
    const committed = await unlessAborted(
      this.#ask((admin) => admin.fetchOffsets({ groupId, topics: [...topics] })),
      signal,
    );
    const lags: PartitionLag[] = [];
    for (const { topic, partitions } of committed) {
      const offsets = new Map(partitions.map(({ partition, offset }) => [partition, Number(offset)]));
      const ends = await unlessAborted(
        this.#ask((admin) => admin.fetchTopicOffsets(topic)),
        signal,
      );
      for (const { partition, high, low } of ends) {
        const offset = offsets.get(partition) ?? -1;
        const next =
          offset >= 0 ? Math.max(offset, Number(low)) : Number(startsAtBeginning(this.#settings) ? low : high);
        lags.push({ topic, partition, messages: Math.max(0, Number(high) - next) });
      }
    }
    return lags;
  }

  /** Why the cluster would not let us create them. Undefined when it would. */
  async #wouldRefuse(topics: readonly string[]): Promise<string | undefined> {
    try {
      const admin = await this.#connected();
      const wanted = topics.map((topic) => ({ topic }));
      await admin.createTopics({ topics: wanted, validateOnly: true, waitForLeaders: false });
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  }

  /** False when the cluster does not let us. */
  async #create(topics: readonly string[]): Promise<boolean> {
    try {
      const admin = await this.#connected();
      // The client's own wait fails where brokers learn of a topic later than the controller has made it (KRaft).
      await admin.createTopics({ topics: topics.map((topic) => ({ topic })), waitForLeaders: false });
      this.#log.info({ topics }, 'topics of the event log created');
      return true;
    } catch (err) {
      this.#log.warn(
        { topics, err },
        'topics of the event log are missing and this client cannot create them; create them manually',
      );
      await this.#forget();
      return false;
    }
  }

  /** Waits until the brokers know new topics, but not for long: who finds none starts over. */
  async #known(topics: readonly string[], signal: AbortSignal): Promise<void> {
    for (let looks = 0; looks < KNOWN_LOOKS; looks++)
      try {
        const admin = await this.#connected();
        await unlessAborted(admin.fetchTopicMetadata({ topics: [...topics] }), signal);
        return;
      } catch (error) {
        if ((error as { type?: string }).type !== 'UNKNOWN_TOPIC_OR_PARTITION') return;
        await this.#clock.sleep(KNOWN_LOOK_MS, signal);
      }
  }

  async #ask<Answer>(question: (admin: Admin) => Promise<Answer>): Promise<Answer> {
    try {
      return await question(await this.#connected());
    } catch (error) {
      await this.#forget();
      const at = this.#settings.servers.map(({ host, port }) => `${host}:${port}`).join(', ');
      const says = isLoginRefused(error) ? 'refuses the login' : 'does not respond';
      throw new Failure('transient', `Kafka (${at}) ${says}: ${messageOf(error)}`, { cause: error, unreachable: true });
    }
  }

  #connected(): Promise<Admin> {
    this.#admin ??= (async () => {
      const admin = this.#client.kafka.admin({ retry: { retries: CREATE_RETRIES } });
      await admin.connect();
      return admin;
    })();
    return this.#admin;
  }

  /** The next request opens a new connection. */
  async #forget(): Promise<void> {
    const admin = this.#admin;
    this.#admin = undefined;
    await admin?.then((open) => open.disconnect()).catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.#forget();
    this.#client.cut();
    await closed;
  }
}
