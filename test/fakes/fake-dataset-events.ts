// Events of datasets in memory. `tell` is what the cache database's triggers do.

import { concerns, type DatasetEvent } from '../../engine/model/dataset-event.ts';
import type { DatasetId, UserId } from '../../engine/model/ids.ts';
import { type DatasetEvents, type EventScope, MOST_EVENTS_PER_PAGE } from '../../engine/ports/dataset-events.ts';

/** Ids do not begin at 0, as those of the cache database. */
const BEGIN = 1_000;

type ToldEvent = Pick<DatasetEvent, 'kind' | 'dataset' | 'owner'> & Partial<Omit<DatasetEvent, 'id' | 'recipients'>>;

export class FakeDatasetEvents implements DatasetEvents {
  /** Users to whom each dataset is given. */
  readonly given = new Map<DatasetId, Set<UserId>>();
  /** How many pages were asked for. */
  pages = 0;
  /** Awaited by every page. */
  gate: Promise<void> = Promise.resolve();
  readonly #sources = new Map<number, string>();
  #events: Omit<DatasetEvent, 'recipients'>[] = [];
  #last = BEGIN;
  #dropped = BEGIN;

  /** Returns the event's id. */
  tell(event: ToldEvent): number {
    this.#events.push({ at: 0, detail: {}, ...event, id: ++this.#last });
    return this.#last;
  }

  newest: DatasetEvents['newest'] = async (signal) => {
    signal.throwIfAborted();
    return this.#last;
  };

  oldest: DatasetEvents['oldest'] = async (signal) => {
    signal.throwIfAborted();
    return this.#dropped;
  };

  page: DatasetEvents['page'] = async (scope, after, limit, signal) => {
    signal.throwIfAborted();
    this.pages++;
    await this.gate;
    signal.throwIfAborted();
    const missed = after < this.#dropped || after > this.#last;
    const from = missed ? this.#dropped : after;
    const most = Math.min(limit, MOST_EVENTS_PER_PAGE);
    const events = this.#events
      .filter(({ id }) => id > from)
      .map((event) => ({ ...event, recipients: [...(this.given.get(event.dataset) ?? [])].toSorted() }))
      .filter((event) => isIn(scope, event))
      .slice(0, most);
    const upTo = events.length === most ? (events.at(-1)?.id ?? from) : this.#last;
    return { events, upTo, more: upTo < this.#last, missed };
  };

  copy: DatasetEvents['copy'] = async (events, signal) => {
    signal.throwIfAborted();
    for (const { source, ...event } of events)
      if (![...this.#sources.values()].includes(source)) this.#sources.set(this.tell(event), source);
  };

  dropBefore: DatasetEvents['dropBefore'] = async (at, signal) => {
    signal.throwIfAborted();
    const gone = this.#events.filter((event) => event.at < at);
    for (const { id } of gone) this.#sources.delete(id);
    this.#dropped = Math.max(this.#dropped, ...gone.map(({ id }) => id));
    this.#events = this.#events.filter((event) => event.at >= at);
    return gone.length;
  };
}

function isIn(scope: EventScope, event: DatasetEvent): boolean {
  if (scope.of === 'all') return true;
  if (scope.of === 'user') return concerns(event, scope.user);
  return event.dataset === scope.dataset && (event.addressee === undefined || event.addressee === scope.user);
}
