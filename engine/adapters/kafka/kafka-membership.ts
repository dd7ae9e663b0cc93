// One membership of a consumer group, from the first connection to its end.
//   connecting   the group does not know us; we can stop at once
//   joining      the group may count on us; stopping waits for the join, so that we can leave
//   joined       batches are handed over one at a time; every rebalance starts a new epoch
//   left         handled messages are committed, and the group is notified
//   lost         the client gave up: `run` rejects, and the caller starts a new membership
//
// Offsets are committed only for messages that `handle` has accepted, and only in the epoch in which they were handed over.
// Messages of a partition that was reassigned in the meantime are delivered again to its new owner. A partition whose batch was
// rejected pauses for a while; others continue.

import type { Consumer, EachBatchPayload, KafkaMessage } from 'kafkajs';
import { transient } from '../../runtime/failure.ts';
import { JoinedSignal } from '../../runtime/joined-signal.ts';
import type { Logger } from '../../runtime/log.ts';
import { Backoff, DELAYS } from '../../runtime/retry.ts';
import type { Clock } from '../../runtime/time.ts';
import { settledUnless, settledWithin, unlessAborted } from '../../runtime/wait.ts';
import { subscribedAssigner } from './kafka-assigner.ts';
import { KafkaClient, kafkaFailure } from './kafka-client.ts';
import { consumerClient, consumerOptions, type KafkaSettings, startsAtBeginning } from './kafka-options.ts';

/** Maximum number of records handed over at a time. */
const BATCH = 500;
/** Deadline for the last commit and for leaving the group. */
const LEAVE_MS = 5_000;
/** The group has changed; the records come again. */
const OUTDATED = new Set(['REBALANCE_IN_PROGRESS', 'ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID']);

export interface PartitionBatch {
  readonly topic: string;
  readonly partition: number;
  readonly messages: readonly KafkaMessage[];
}

interface MembershipOptions {
  readonly settings: KafkaSettings;
  readonly topics: readonly string[];
  /** The messages are committed once it resolves; if it rejects, they are delivered again. */
  readonly handle: (batch: PartitionBatch) => Promise<void>;
  readonly onJoined: () => void;
  readonly clock: Clock;
  readonly log: Logger;
}

type Committer = Pick<EachBatchPayload, 'uncommittedOffsets' | 'commitOffsetsIfNecessary'>;

export class KafkaMembership {
  readonly #options: MembershipOptions;
  readonly #client: KafkaClient;
  readonly #refused = new Map<string, Backoff>();
  #state: 'connecting' | 'joining' | 'joined' = 'connecting';
  #epoch = 0;
  #heardAt = 0;
  #committer: Committer | undefined;
  #committing: Promise<void> | undefined;
  #handling: Promise<unknown> = Promise.resolve();

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.#client = new KafkaClient(consumerClient(options.settings), options.log);
  }

  /**
   * Resolves after `signal` aborted, the current batch was handled and we left the group. Rejects when the membership is lost.
   * @param ended aborts all waiting: the connections are closed
   */
  async run(signal: AbortSignal, ended: AbortSignal): Promise<void> {
    const { settings } = this.#options;
    using over = new JoinedSignal(signal);
    const consumer = this.#client.kafka.consumer({
      ...consumerOptions(settings),
      partitionAssigners: [subscribedAssigner],
    });
    const { CRASH, FETCH, GROUP_JOIN, HEARTBEAT, REBALANCING } = consumer.events;
    for (const event of [FETCH, GROUP_JOIN, HEARTBEAT] as const) consumer.on(event, () => this.#hear());
    consumer.on(CRASH, ({ payload }) => over.abort(this.#lost(payload.error)));
    consumer.on(GROUP_JOIN, ({ payload }) => this.#join(payload.memberAssignment));
    // Sent before the request to rejoin, on the same connection.
    consumer.on(REBALANCING, () => void this.#commit());
    const starting = this.#start(consumer, over.signal);
    try {
      await unlessAborted(starting, over.signal);
      await Promise.all([this.#commitByTime(over.signal), this.#watch(over.signal)]);
    } catch (error) {
      over.abort(error);
      // Only one batch at a time, also across memberships.
      await settledUnless(this.#handling, ended);
      if (!signal.aborted) throw this.#lost(error);
      await this.#leave(consumer, starting, ended);
    } finally {
      void consumer.disconnect().catch(() => undefined);
      this.#client.cut();
    }
  }

  #hear(): void {
    this.#heardAt = this.#options.clock.now();
  }

  /** Rejects when the client was silent for so long that the group must have removed it, whatever the client believes. */
  async #watch(over: AbortSignal): Promise<never> {
    const { clock, settings } = this.#options;
    const { sessionTimeoutMs, maxPollIntervalMs } = settings.consumers;
    const longest = sessionTimeoutMs + maxPollIntervalMs;
    for (this.#hear(); ; ) {
      const left = this.#heardAt + longest - clock.now();
      if (left <= 0) throw transient(`no message from the consumer group for ${longest} ms`, { unreachable: true });
      await clock.sleep(left, over);
    }
  }

  async #commitByTime(over: AbortSignal): Promise<never> {
    const { clock, settings } = this.#options;
    for (;;) {
      await clock.sleep(settings.consumers.autoCommitIntervalMs, over);
      await this.#commit();
    }
  }

  async #start(consumer: Consumer, over: AbortSignal): Promise<void> {
    const { settings, topics } = this.#options;
    await consumer.connect();
    await consumer.subscribe({ topics: [...topics], fromBeginning: startsAtBeginning(settings) });
    over.throwIfAborted();
    this.#state = 'joining';
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: (payload) => {
        const handling = this.#take(payload, over);
        this.#handling = handling;
        return handling;
      },
    });
  }

  #join(assignment: Readonly<Record<string, readonly number[]>>): void {
    this.#epoch++;
    this.#state = 'joined';
    this.#options.onJoined();
    this.#options.log.info({ partitions: assignment }, 'joined the consumer group of the event log');
  }

  async #take(payload: EachBatchPayload, over: AbortSignal): Promise<void> {
    const { batch, resolveOffset, isRunning, pause } = payload;
    const { topic, partition, messages } = batch;
    const { consumers } = this.#options.settings;
    const epoch = this.#epoch;
    const limit = Math.min(BATCH, consumers.maxPollRecords || BATCH);
    this.#committer = payload;
    for (let from = 0; from < messages.length; from += limit) {
      if (over.aborted || !isRunning()) return;
      const chunk = messages.slice(from, from + limit);
      const taken = await this.#taken({ topic, partition, messages: chunk }, payload, over);
      // Reassigned in the meantime: another member has these messages by now.
      if (epoch !== this.#epoch) return;
      if (!taken) return this.#rest(topic, partition, pause());
      this.#refused.delete(`${topic} ${partition}`);
      const last = chunk.at(-1);
      if (last) resolveOffset(last.offset);
      if (!consumers.enableAutoCommit) await this.#commit();
    }
  }

  /** True when handled. In the meantime we send heartbeats, however long it takes. */
  async #taken(batch: PartitionBatch, { heartbeat }: EachBatchPayload, over: AbortSignal): Promise<boolean> {
    const { settings, clock, log, handle } = this.#options;
    try {
      const handling = handle(batch);
      while (!(await settledWithin(clock, settings.consumers.heartbeatIntervalMs, handling)))
        // If a heartbeat fails, the client's own next heartbeat handles the error.
        void heartbeat().then(
          () => this.#hear(),
          () => undefined,
        );
      await handling;
      return true;
    } catch (err) {
      const { topic, partition, messages } = batch;
      // After an abort the reason is known.
      if (!over.aborted)
        log.warn(
          { err, topic, partition, records: messages.length },
          'a batch was rejected; it will be delivered again',
        );
      return false;
    }
  }

  #rest(topic: string, partition: number, resume: () => void): void {
    const key = `${topic} ${partition}`;
    const backoff = this.#refused.get(key) ?? new Backoff(DELAYS.batch);
    this.#refused.set(key, backoff);
    // In a later epoch too: the client remembers paused partitions for the whole membership.
    this.#options.clock.after(backoff.failed(), resume);
  }

  /** Commits everything handled so far. Not retried on failure: the next commit includes it. */
  #commit(): Promise<void> {
    this.#committing ??= this.#commitOnce().finally(() => {
      this.#committing = undefined;
    });
    return this.#committing;
  }

  async #commitOnce(): Promise<void> {
    try {
      const offsets = this.#committer?.uncommittedOffsets();
      if (offsets && offsets.topics.length > 0) await this.#committer?.commitOffsetsIfNecessary(offsets);
    } catch (err) {
      const outdated = OUTDATED.has((err as { type?: string }).type ?? '');
      this.#options.log[outdated ? 'debug' : 'warn'](
        { err },
        'offsets could not be committed; events may be delivered again',
      );
    }
  }

  async #leave(consumer: Consumer, starting: Promise<void>, ended: AbortSignal): Promise<void> {
    if (this.#state === 'connecting' || ended.aborted) return;
    const { clock, log } = this.#options;
    const leaving = (async () => {
      await starting;
      await this.#commit();
      await consumer.disconnect();
    })();
    using limit = new JoinedSignal(ended);
    const cancel = clock.after(LEAVE_MS, () => limit.abort(undefined));
    if (!(await settledUnless(leaving, limit.signal)))
      log.warn({ leaveMs: LEAVE_MS }, 'could not leave the consumer group of the event log in time');
    cancel();
  }

  #lost(error: unknown): Error {
    return kafkaFailure(`read ${this.#options.topics.join(', ')}`, error);
  }
}
