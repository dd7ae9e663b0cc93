// Reads the events of datasets once per process, for all streams together. Nothing is read while there is no stream.
//
//   idle      no stream                      begun    knows where the events end now
//   reading   looks for new events every half second, keeps the newest, and wakes the streams; while the database is away, it
//             tries again and the streams wait
//
// It polls, because each NOTIFY makes its transaction wait for those that notify at the same time, up to the disk: every step
// of every dataset would pay for that, whether somebody listens or not.

import type { DatasetEvent } from '../../../engine/model/dataset-event.ts';
import { type DatasetEvents, MOST_EVENTS_PER_PAGE } from '../../../engine/ports/dataset-events.ts';
import { aborted, kindOf } from '../../../engine/runtime/failure.ts';
import type { Logger } from '../../../engine/runtime/log.ts';
import { DELAYS, persisting } from '../../../engine/runtime/retry.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { unlessAborted } from '../../../engine/runtime/wait.ts';

export interface EventFeedOptions {
  readonly datasetEvents: Pick<DatasetEvents, 'newest' | 'page'>;
  readonly clock: Clock;
  readonly log: Logger;
}

const POLL_MS = 500;
/** Events that are kept, so that streams do not read them again. A stream that is further behind reads from the database. */
const KEPT = 1_000;

interface Reading {
  readonly begun: Promise<void>;
  readonly until: AbortController;
}

export class EventFeed {
  readonly #options: EventFeedOptions;
  readonly #wakes = new Set<() => void>();
  #reading: Reading | undefined;
  /** All events after `#from`, up to `#upTo`. */
  #recent: DatasetEvent[] = [];
  #from = 0;
  #upTo = 0;

  constructor(options: EventFeedOptions) {
    this.#options = options;
  }

  /** Calls `wake` after each batch of new events, until disposed. Rejects when the database cannot be read now. */
  async follow(wake: () => void, signal: AbortSignal): Promise<Disposable> {
    const mine = (): void => wake();
    this.#wakes.add(mine);
    const stop = { [Symbol.dispose]: () => this.#leave(mine) };
    this.#reading ??= this.#begin();
    try {
      await unlessAborted(this.#reading.begun, signal);
    } catch (error) {
      stop[Symbol.dispose]();
      throw error;
    }
    return stop;
  }

  /** The events after that id, as far as they have been read. Undefined when some of them are not kept here. */
  after(id: number): { readonly events: readonly DatasetEvent[]; readonly upTo: number } | undefined {
    if (id < this.#from) return undefined;
    const known = this.#recent.findLastIndex((event) => event.id <= id);
    return { events: this.#recent.slice(known + 1), upTo: Math.max(id, this.#upTo) };
  }

  #begin(): Reading {
    const until = new AbortController();
    const begun = this.#options.datasetEvents.newest(until.signal).then((newest) => {
      this.#recent = [];
      this.#from = newest;
      this.#upTo = newest;
      void this.#read(until.signal);
    });
    begun.catch(() => {
      if (this.#reading?.until === until) this.#reading = undefined;
    });
    return { begun, until };
  }

  #leave(wake: () => void): void {
    this.#wakes.delete(wake);
    if (this.#wakes.size > 0) return;
    this.#reading?.until.abort(aborted('nobody follows events'));
    this.#reading = undefined;
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    await persisting(
      DELAYS.database,
      clock,
      async (backoff) => {
        while (!signal.aborted) {
          if (!(await this.#readPage(signal))) await clock.sleep(POLL_MS, signal);
          backoff.succeeded();
        }
      },
      (err) => log[kindOf(err) === 'transient' ? 'warn' : 'error']({ err }, 'events could not be read; retrying'),
      signal,
    );
  }

  /** True when more may be there. */
  async #readPage(signal: AbortSignal): Promise<boolean> {
    const { datasetEvents } = this.#options;
    const page = await datasetEvents.page({ of: 'all' }, this.#upTo, MOST_EVENTS_PER_PAGE, signal);
    if (signal.aborted) return false;
    this.#upTo = page.upTo;
    // The streams ask the database, which tells them the same.
    if (page.missed) this.#from = page.upTo;
    this.#recent = page.missed ? [] : [...this.#recent, ...page.events];
    const surplus = this.#recent.splice(0, Math.max(0, this.#recent.length - KEPT));
    this.#from = surplus.at(-1)?.id ?? this.#from;
    if (page.events.length > 0 || page.missed) for (const wake of [...this.#wakes]) wake();
    return page.more;
  }
}
