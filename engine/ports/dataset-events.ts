// Durable events of datasets, in one order for all readers. Whatever changes a dataset writes its event in the same step, so an
// event is never told of a change that did not happen, and never missing. A repeated step tells nothing again. Events are
// removed by age only.
//
// A reader keeps the id up to which it has read, and asks for what comes after it. Ids are given when events are read, in the
// order of commits: after a reader got an id, no smaller one appears.

import type { DatasetEvent } from '../model/dataset-event.ts';
import type { DatasetId, UserId } from '../model/ids.ts';

/**
 *   all      every event
 *   user     of datasets that the user owns or was given now, and those addressed to the user
 *   dataset  of one dataset, without those addressed to other users than this one
 */
export type EventScope =
  | { readonly of: 'all' }
  | { readonly of: 'user'; readonly user: UserId }
  | { readonly of: 'dataset'; readonly dataset: DatasetId; readonly user?: UserId };

export interface EventPage {
  /** In the order of ids. */
  readonly events: readonly DatasetEvent[];
  /** All events of the scope up to this id were returned, on this page or before: the next page begins after it. */
  readonly upTo: number;
  /** More may be there already; otherwise the reader has seen everything. */
  readonly more: boolean;
  /** Events after the requested id were removed, or nobody ever got that id here: the reader may have missed some. */
  readonly missed: boolean;
}

/** An event that happened elsewhere, such as in the access service. */
export interface CopiedEvent extends Omit<DatasetEvent, 'id' | 'recipients'> {
  /** The same for the same event: it is stored once, for as long as it is kept. */
  readonly source: string;
}

export const MOST_EVENTS_PER_PAGE = 1_000;

export interface DatasetEvents {
  /** The id of the newest event: where a reader begins that wants only what comes. */
  newest(signal: AbortSignal): Promise<number>;
  /** The oldest id after which nothing has been removed: where a reader begins that wants everything that is kept. */
  oldest(signal: AbortSignal): Promise<number>;
  /**
   * Up to `limit` (1..1,000) events after that id. May be empty although more is there, because a page also ends after a
   * number of events that it looked at. When `missed`, it starts at the oldest that are kept.
   */
  page(scope: EventScope, after: number, limit: number, signal: AbortSignal): Promise<EventPage>;
  copy(events: readonly CopiedEvent[], signal: AbortSignal): Promise<void>;
  /** Removes what happened before then, in ms since 1970; returns how many events. */
  dropBefore(at: number, signal: AbortSignal): Promise<number>;
}
