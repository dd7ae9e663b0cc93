// A reader of the journal of events that makes rows of what it reads, each once: the transaction that writes them moves the
// reader's place. Events are read outside of it, because they never change. Of several processes that read the same events, one
// moves the place.

import type { DatasetEvent } from '../../model/dataset-event.ts';
import type { DatasetEvents } from '../../ports/dataset-events.ts';
import type { Postgres, Sql } from '../postgres/postgres.ts';

/** Events that one transaction takes. */
const PAGE = 500;
/** How often the journal is read, unless there was more. */
const READ_MS = 1_000;

const MOVE =
  'update event_reader set position = $3::bigint where name = $1 and position = $2::bigint returning position';

export interface FreshEvents {
  readonly place: number;
  readonly upTo: number;
  readonly events: readonly DatasetEvent[];
  /** More may be there already. */
  readonly more: boolean;
}

export class EventReader {
  readonly #db: Pick<Postgres, 'query'>;
  readonly #events: Pick<DatasetEvents, 'page'>;
  readonly #name: 'webhooks' | 'mails';
  readonly #since: string;
  #nextMs = 0;

  /** @param since SQL: the smallest position that is of interest to anybody; null = nobody is interested */
  constructor(
    db: Pick<Postgres, 'query'>,
    events: Pick<DatasetEvents, 'page'>,
    name: 'webhooks' | 'mails',
    since: string,
  ) {
    this.#db = db;
    this.#events = events;
    this.#name = name;
    this.#since = since;
  }

  /** Undefined when there is nothing new, or it was asked a moment ago. */
  async read(now: Date, signal: AbortSignal): Promise<FreshEvents | undefined> {
    if (now.getTime() < this.#nextMs) return undefined;
    const [at] = await this.#db.query<{ place: number; since: number | null }>(
      `select position as place, (${this.#since}) as since from event_reader where name = $1`,
      [this.#name],
    );
    this.#nextMs = now.getTime() + READ_MS;
    if (!at || at.since === null) return undefined;
    const after = Math.max(at.place, at.since);
    const { events, upTo, more } = await this.#events.page({ of: 'all' }, after, PAGE, signal);
    if (more) this.#nextMs = 0;
    return upTo > at.place ? { place: at.place, upTo, events, more } : undefined;
  }

  /** False when another process has taken these events. */
  async move(sql: Sql, { place, upTo }: FreshEvents): Promise<boolean> {
    return (await sql.query(MOVE, [this.#name, place, upTo])).length > 0;
  }
}

/** The users who are told of an event: the same as see it in their stream. */
export const toldOf = ({ addressee, owner, recipients }: DatasetEvent): readonly string[] =>
  addressee === undefined ? [owner, ...recipients] : [addressee];
