// The event log has one named channel per lane; messages have a key that consumers filter by. The change queue delivers changes
// of the object store.

import type { ObjectChange, TriggerEvent } from '../model/event.ts';

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
   * Durable when it resolves. When it rejects, some or all records may have been published, so a retry may duplicate them.
   * `transient` while the log does not accept records.
   */
  publish(records: readonly EventRecord[], signal: AbortSignal): Promise<void>;
  /**
   * Delivers batches (1..500) of the wanted channels, one at a time, until the signal aborts, then resolves. A batch is
   * acknowledged after `handle` resolved; when it rejects, the batch is redelivered after a pause. Acknowledged records may be
   * redelivered when a process died or consumers joined or left; no record is skipped. Records of one dataset and channel keep
   * their order of publication while one process publishes them. Rejects only with a defect of ours; waits while the log is
   * unreachable.
   */
  consume(
    wanted: readonly ChannelFilter[],
    handle: (records: readonly EventRecord[]) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
  /** The next event id; an integer below 2^53, unique among all processes. */
  nextEventId(signal: AbortSignal): Promise<number>;
}

/** Changes of the object store: at least once, in no particular order. */
export interface ChangeQueue {
  /**
   * Delivers batches (1..500) until the signal aborts, then resolves. A batch is acknowledged after `handle` resolved; when it
   * rejects, the rejection is logged and the batch is redelivered later.
   */
  consume(handle: (changes: readonly ObjectChange[]) => Promise<void>, signal: AbortSignal): Promise<void>;
}
