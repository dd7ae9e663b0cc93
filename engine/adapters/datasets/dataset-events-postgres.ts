// Events of datasets in the cache database. Triggers write them (engine/adapters/migrations/cache/0013-events.sql); who reads
// gives them their ids first.

import type { DatasetEvent, DatasetEventDetail, DatasetEventKind } from '../../model/dataset-event.ts';
import type { DatasetId, UserId } from '../../model/ids.ts';
import { type DatasetEvents, type EventScope, MOST_EVENTS_PER_PAGE } from '../../ports/dataset-events.ts';
import { defect } from '../../runtime/failure.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { storableJson } from '../postgres/sql-parameters.ts';

/** Most events that one page looks at. Their ids are consecutive, so this bounds the work whatever the scope lets through. */
const WINDOW = 20_000;
/** Most rows that one statement deletes. */
const DROP_BATCH = 5_000;

/** Events that one call gives their ids (0013-events.sql). */
const NUMBERED = 10_000;

const PLACE = 'select last, dropped from number_dataset_events()';

const pageSql = (condition: string): string => `
  select e.position as id, e.kind, (extract(epoch from e.at) * 1000)::bigint as at, e.dataset_id as dataset,
    e.owner_id::text as owner, e.addressee_id::text as addressee, e.detail,
    array(select s.recipient_id::text from dataset_share s
      where s.dataset_id = e.dataset_id and s.offer = 'grant' and s.receipt = 'accept' order by s.recipient_id) as recipients
  from dataset_event e
  where e.position > $1::bigint and e.position <= $2::bigint and ${condition}
  order by e.position limit $3::bigint`;

const PAGES = {
  all: pageSql('true'),
  user: pageSql(`(e.addressee_id = $4::numeric or e.addressee_id is null and (e.owner_id = $4::numeric
    or exists (select from dataset_share s where s.dataset_id = e.dataset_id and s.recipient_id = $4::numeric
      and s.offer = 'grant' and s.receipt = 'accept')))`),
  dataset: pageSql('e.dataset_id = $4::text and (e.addressee_id is null or e.addressee_id = $5::numeric)'),
} as const satisfies Record<EventScope['of'], string>;

const COPY = `
  insert into dataset_event (kind, at, dataset_id, owner_id, addressee_id, detail, source_key)
  select x.kind, x.at, x.dataset, x.owner, x.addressee, x.detail, x.source
  from jsonb_to_recordset($1::jsonb) as x (kind text, at timestamptz, dataset text, owner numeric, addressee numeric,
    detail jsonb, source text)
  on conflict (source_key) where source_key is not null do nothing`;

/** In the order of their ids, which is nearly that of their times. */
const DROP = `
  with oldest as materialized (
    select id from dataset_event where position is not null order by position limit $2),
  gone as (delete from dataset_event e using oldest o where e.id = o.id and e.at < $1 returning e.position),
  noted as (
    update dataset_event_place p set dropped = greatest(p.dropped, g.newest)
    from (select max(position) as newest from gone) g where g.newest is not null)
  select count(*) as dropped from gone`;

interface EventRow extends Omit<DatasetEvent, 'addressee'> {
  readonly kind: DatasetEventKind;
  readonly dataset: DatasetId;
  readonly addressee: UserId | null;
  readonly detail: DatasetEventDetail;
}

interface Place {
  readonly last: number;
  readonly dropped: number;
}

export class PostgresDatasetEvents implements DatasetEvents {
  readonly #db: Pick<Postgres, 'query'>;

  constructor(db: Pick<Postgres, 'query'>) {
    this.#db = db;
  }

  newest: DatasetEvents['newest'] = async (signal) => {
    // Maybe nobody has read for long, and one call does not reach the newest.
    for (let { last } = await this.#place(signal); ; ) {
      const place = await this.#place(signal);
      if (place.last - last < NUMBERED) return place.last;
      last = place.last;
    }
  };

  oldest: DatasetEvents['oldest'] = async (signal) => (await this.#place(signal)).dropped;

  page: DatasetEvents['page'] = async (scope, after, limit, signal) => {
    const { last, dropped } = await this.#place(signal);
    const missed = after < dropped || after > last;
    const from = missed ? dropped : after;
    const most = Math.min(limit, MOST_EVENTS_PER_PAGE);
    // The events of one dataset are found by its id.
    const to = scope.of === 'dataset' ? last : Math.min(last, from + WINDOW);
    if (from === to) return { events: [], upTo: to, more: false, missed };
    const rows = await this.#db.query<EventRow>(
      PAGES[scope.of],
      [from, to, most, ...valuesOf(scope)],
      `dataset-events-${scope.of}`,
    );
    const newest = rows.length === most ? rows.at(-1)?.id : undefined;
    const upTo = newest ?? to;
    return { events: rows.map(eventOf), upTo, more: upTo < last, missed };
  };

  copy: DatasetEvents['copy'] = async (events, signal) => {
    signal.throwIfAborted();
    if (events.length === 0) return;
    const rows = events.map((event) => ({ ...event, at: new Date(event.at) }));
    await this.#db.query(COPY, [storableJson(JSON.stringify(rows))], 'dataset-events-copy');
  };

  dropBefore: DatasetEvents['dropBefore'] = async (at, signal) => {
    // Only events with an id are removed, and maybe nobody has read for long.
    for (let total = 0; ; ) {
      await this.#place(signal);
      const [row] = await this.#db.query<{ dropped: number }>(DROP, [new Date(at), DROP_BATCH]);
      total += row?.dropped ?? 0;
      if ((row?.dropped ?? 0) < DROP_BATCH) return total;
    }
  };

  async #place(signal: AbortSignal): Promise<Place> {
    signal.throwIfAborted();
    const [place] = await this.#db.query<Place>(PLACE, [], 'dataset-events-place');
    if (!place) throw defect('the table dataset_event_place has no row');
    return place;
  }
}

function valuesOf(scope: EventScope): readonly unknown[] {
  switch (scope.of) {
    case 'all':
      return [];
    case 'user':
      return [scope.user];
    case 'dataset':
      return [scope.dataset, scope.user ?? null];
    default:
      return scope satisfies never;
  }
}

const eventOf = ({ addressee, ...event }: EventRow): DatasetEvent => ({
  ...event,
  ...(addressee === null ? {} : { addressee }),
});
