// What is asked of a Kafka cluster besides messages: whether it answers, and that the topics of our channels are there.

import type { Admin } from 'kafkajs';
import { Failure, messageOf } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import { unlessAborted } from '../../runtime/wait.ts';
import { KafkaClient } from './kafka-client.ts';
import { type KafkaSettings, producerClient } from './kafka-options.ts';

/** Repeats of a request for which the cluster's controller was not found. */
const CREATE_RETRIES = 2;

export interface TopicsFound {
  /** Number of partitions by topic, of those that are there. */
  readonly partitions: ReadonlyMap<string, number>;
  readonly missing: readonly string[];
  /** Why the missing ones cannot be made by us; absent when they can, or when none is missing. */
  readonly refused?: string;
}

export class KafkaAdmin implements AsyncDisposable {
  readonly #client: KafkaClient;
  readonly #settings: KafkaSettings;
  readonly #log: Logger;
  /** Are there, or cannot be made by us; either is found out once. */
  readonly #settled = new Set<string>();
  #admin: Promise<Admin> | undefined;
  #probing: Promise<unknown> | undefined;

  constructor(settings: KafkaSettings, log: Logger) {
    this.#settings = settings;
    this.#log = log;
    this.#client = new KafkaClient(producerClient(settings), log);
  }

  /** Resolves when a broker answers. Those who ask while one question is on its way wait for the same answer. */
  async probe(signal: AbortSignal): Promise<void> {
    this.#probing ??= this.#ask((admin) => admin.describeCluster()).finally(() => {
      this.#probing = undefined;
    });
    await unlessAborted(this.#probing, signal);
  }

  /**
   * Has missing topics made, with the cluster's default number of partitions. Where the cluster does not let us, a warning
   * says so, and it may still make them itself when they are first used.
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
    if (missing.length > 0) await unlessAborted(this.#create(missing), signal);
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
    // Asked of those alone that are there: a cluster may make a topic because somebody asks for it.
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

  /** Why the cluster would not let us make them; undefined when it would. */
  async #wouldRefuse(topics: readonly string[]): Promise<string | undefined> {
    try {
      const admin = await this.#connected();
      await admin.createTopics({ topics: topics.map((topic) => ({ topic })), validateOnly: true });
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  }

  async #create(topics: readonly string[]): Promise<void> {
    try {
      const admin = await this.#connected();
      await admin.createTopics({ topics: topics.map((topic) => ({ topic })) });
      this.#log.info({ topics }, 'topics of the event log were created');
    } catch (err) {
      this.#log.warn({ topics, err }, 'topics of the event log are missing and cannot be created by us: create them');
      await this.#forget();
    }
  }

  async #ask<Answer>(question: (admin: Admin) => Promise<Answer>): Promise<Answer> {
    try {
      return await question(await this.#connected());
    } catch (error) {
      await this.#forget();
      const at = this.#settings.servers.map(({ host, port }) => `${host}:${port}`).join(', ');
      throw new Failure('transient', `Kafka (${at}) does not answer: ${messageOf(error)}`, {
        cause: error,
        unreachable: true,
      });
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

  /** The next question opens a connection of its own. */
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
