// One stream of events (text/event-stream). It pulls: what the client does not read stays in the database and not in memory. The
// server disconnects clients that read too slowly, as with any response; they resume by the id of the last event they got.
//
// It ends when the client leaves, the process stops, the token expires, the caller no longer sees the dataset, or the database
// does not answer. Then the client connects again, and gets what it missed, or a status that says why not.

import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { DatasetEvent } from '../../../engine/model/dataset-event.ts';
import { stringifyJson } from '../../../engine/model/json.ts';
import type { DatasetEvents, EventPage, EventScope } from '../../../engine/ports/dataset-events.ts';
import { kindOf } from '../../../engine/runtime/failure.ts';
import type { Random } from '../../../engine/runtime/retry.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { Notifier } from '../../../engine/runtime/wait.ts';
import type { EventFeed } from './event-feed.ts';
import { eventView } from './event-terms.ts';

/** Why a stream ended. */
export type StreamEnd = 'left' | 'stopping' | 'token-expired' | 'not-visible' | 'unavailable';

export interface StreamOptions {
  readonly feed: EventFeed;
  readonly datasetEvents: Pick<DatasetEvents, 'page'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly onSent: (events: number) => void;
}

export interface Streamed {
  readonly scope: EventScope;
  /** Whether an event of all datasets belongs to the scope. */
  readonly includes: (event: DatasetEvent) => boolean;
  /** Whether the caller still sees the dataset. Absent: `includes` decides for each event. */
  readonly isVisible?: ((signal: AbortSignal) => Promise<boolean>) | undefined;
  /** The id of the last event that the client has. */
  readonly after: number;
  /** When the caller's token expires, in ms since 1970; Infinity = never. Becomes earlier when the caller signs out. */
  readonly untilMs: number;
  readonly response: ServerResponse;
  /** Aborts when the client leaves, or the server gives up. */
  readonly signal: AbortSignal;
  /** Aborts when the server begins to stop. */
  readonly draining: AbortSignal;
}

/** So that proxies keep the connection, and the client sees that it lives. */
const HEARTBEAT_MS = 15_000;
/** How long it is assumed that the caller still sees the dataset. */
const VISIBLE_MS = 5_000;
const PAGE_EVENTS = 200;
/** When clients connect again: not all of them at the same moment. */
const RETRY_MS = { least: 1_000, most: 3_000 } as const;

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  // Proxies such as nginx would hold events back.
  'x-accel-buffering': 'no',
} as const;

type Batch = Omit<EventPage, 'missed'> & { readonly missed?: boolean };

export class EventStream {
  readonly #options: StreamOptions;
  readonly #streamed: Streamed;
  readonly #notifier = new Notifier();
  #cursor: number;
  /** The newest id that the client has got. */
  #told: number;
  #visibleUntil: number;
  #beatAt = 0;

  constructor(options: StreamOptions, streamed: Streamed) {
    this.#options = options;
    this.#streamed = streamed;
    this.#cursor = streamed.after;
    this.#told = streamed.after;
    this.#visibleUntil = options.clock.now() + VISIBLE_MS;
  }

  /** Sends until the end. Rejects when nothing has been sent yet. */
  async run(): Promise<StreamEnd> {
    const { feed, random } = this.#options;
    const { response, signal, draining } = this.#streamed;
    using _signals = this.#notifier.notifyOn(signal, draining);
    using _following = await feed.follow(() => this.#notifier.notify(), signal);
    // From the database, which knows whether the client has missed something.
    const first = await this.#page();
    this.#begin();
    try {
      const { least, most } = RETRY_MS;
      await this.#write(`retry: ${Math.round(least + random() * (most - least))}\n\n`);
      const end = await this.#continue(first);
      if (end === 'token-expired' || end === 'not-visible')
        await this.#write(`event: end\ndata: {"reason":"${end}"}\n\n`);
      response.end();
      return end;
    } catch (error) {
      if (signal.aborted) return 'left';
      if (kindOf(error) !== 'transient') throw error;
      response.end();
      return 'unavailable';
    }
  }

  /** For HEAD. */
  headOnly(): void {
    this.#begin();
    this.#streamed.response.end();
  }

  #begin(): void {
    for (const [name, value] of Object.entries(HEADERS)) this.#streamed.response.setHeader(name, value);
  }

  async #continue(first: Batch): Promise<StreamEnd> {
    for (let batch = first; ; batch = this.#recent() ?? (await this.#page())) {
      const isVisible = await this.#isVisible();
      // Who may no longer see the dataset still gets why.
      await this.#send(isVisible ? batch : { ...batch, events: batch.events.filter(({ kind }) => kind === 'deleted') });
      if (!isVisible) return 'not-visible';
      if (!batch.more) await this.#idle();
      const end = this.#end();
      if (end) return end;
    }
  }

  #end(): StreamEnd | undefined {
    const { signal, draining, untilMs } = this.#streamed;
    if (signal.aborted) return 'left';
    if (draining.aborted) return 'stopping';
    return this.#options.clock.now() >= untilMs ? 'token-expired' : undefined;
  }

  /** Of the events that the process has read anyway. */
  #recent(): Batch | undefined {
    const recent = this.#options.feed.after(this.#cursor);
    return recent && { events: recent.events.filter(this.#streamed.includes), upTo: recent.upTo, more: false };
  }

  #page(): Promise<Batch> {
    const { scope, signal } = this.#streamed;
    return this.#options.datasetEvents.page(scope, this.#cursor, PAGE_EVENTS, signal);
  }

  async #isVisible(): Promise<boolean> {
    const { isVisible, signal } = this.#streamed;
    const now = this.#options.clock.now();
    if (!isVisible || now < this.#visibleUntil) return true;
    this.#visibleUntil = now + VISIBLE_MS;
    return isVisible(signal);
  }

  async #send({ events, upTo, missed }: Batch): Promise<void> {
    if (missed) await this.#write(frame((events[0]?.id ?? upTo + 1) - 1, 'gap', { after: this.#cursor }));
    for (const event of events) {
      await this.#write(frame(event.id, event.kind, eventView(event)));
      this.#told = event.id;
    }
    if (events.length > 0) this.#options.onSent(events.length);
    this.#cursor = upTo;
  }

  /** Until there is something to do. After a while without events, sends a comment, and how far the client is. */
  async #idle(): Promise<void> {
    const { clock } = this.#options;
    const waitMs = Math.min(this.#beatAt, this.#streamed.untilMs) - clock.now();
    await this.#notifier.wait(clock, Math.max(1, waitMs));
    if (clock.now() < this.#beatAt || this.#end()) return;
    const isAhead = this.#cursor > this.#told;
    this.#told = this.#cursor;
    // An id without data is no event. The client resumes after it.
    await this.#write(isAhead ? `:\nid: ${this.#cursor}\n\n` : ':\n\n');
  }

  /** Resolves when the client's connection takes more. */
  async #write(text: string): Promise<void> {
    const { response, signal } = this.#streamed;
    signal.throwIfAborted();
    this.#beatAt = this.#options.clock.now() + HEARTBEAT_MS;
    if (!response.write(text)) await once(response, 'drain', { signal });
  }
}

const frame = (id: number, event: string, data: object): string =>
  `id: ${id}\nevent: ${event}\ndata: ${onOneLine(stringifyJson(data))}\n\n`;

/** Some clients also end lines at other separators of Unicode, which JSON does not escape. */
const onOneLine = (json: string): string =>
  json.replaceAll(/[\u0085\u2028\u2029]/g, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`);
