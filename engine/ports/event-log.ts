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
  /**
   * Durable when it resolves. When it rejects, some or all records may be there all the same: events may repeat. `transient`
   * while the log does not take them.
   */
  publish(records: readonly EventRecord[], signal: AbortSignal): Promise<void>;
  /**
   * Hands over batches (1..500) of the wanted channels, one at a time, until the signal aborts, then resolves. A batch is
   * acknowledged after `handle` resolved; when it rejects, the batch comes again after a pause. What was acknowledged may
   * come again where a process died or consumers came and went; nothing is left out. Records of one dataset and channel keep
   * the order of their publishing while one process publishes them. Rejects only with a defect of ours; a log that is away
   * is waited for.
   */
  consume(
    wanted: readonly ChannelFilter[],
    handle: (records: readonly EventRecord[]) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
  /** The next event id; an integer below 2^53, unique among all processes. */
  nextEventId(signal: AbortSignal): Promise<number>;
}
