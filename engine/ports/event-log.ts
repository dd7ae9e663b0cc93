// The event log: one named channel per lane, messages with a key that consumers filter by.

import type { TriggerEvent } from '../model/event.ts';

export interface EventRecord {
  readonly channel: string;
  readonly key: string;
  readonly event: TriggerEvent;
}

export interface ChannelFilter {
  readonly channel: string;
  /** Messages with another key are dropped and counted. */
  readonly key: string;
}

export interface EventLog {
  /** Durable when it resolves. */
  publish(records: readonly EventRecord[], signal: AbortSignal): Promise<void>;
  /**
   * Hands over batches (1..500) of the wanted channels until the signal aborts, then resolves. A batch is acknowledged
   * after `handle` resolved; when it rejects, the batch comes again.
   */
  consume(
    wanted: readonly ChannelFilter[],
    handle: (records: readonly EventRecord[]) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
  /** The next event id; an integer below 2^53, unique among all processes. */
  nextEventId(signal: AbortSignal): Promise<number>;
}
