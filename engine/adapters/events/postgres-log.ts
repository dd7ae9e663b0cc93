// The event log as a table of the cache database: for one machine, or for several processes without a broker.

import type { EventSource } from '../../model/event.ts';
import type { DatasetId, UserId } from '../../model/ids.ts';
import type { ChannelFilter, EventLog, EventRecord } from '../../ports/event-log.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Clock } from '../../runtime/time.ts';
import { unlessAborted } from '../../runtime/wait.ts';
import { BATCH, ClaimedRows, freeRow } from '../postgres/claimed-rows.ts';
import type { Postgres } from '../postgres/postgres.ts';
import type { PostgresInstance } from '../postgres/postgres-instance.ts';

/** Notified with the name of a channel that has new messages. */
const NOTIFY_CHANNEL = 'longshore_event';
const PUBLISH_BATCH = 5_000;

const PUBLISH = `
with added as (
  insert into event_log (channel, key, event_id, owner, dataset_id, source)
  select r.channel, r.key, r.event_id, r.owner::numeric, r.dataset_id, r.source
  from unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[]) with ordinality
    as r(channel, key, event_id, owner, dataset_id, source, place)
  order by r.place
  returning channel)
select pg_notify('${NOTIFY_CHANNEL}', c.channel) from (select distinct channel from added) c`;

// Channel by channel, so that messages for other processes are not read repeatedly.
const CLAIM = `
with free as materialized (
  select f.id from unnest($4::text[]) as wanted(channel)
  cross join lateral (
    select id from event_log where channel = wanted.channel and ${freeRow('$3::integer[]')}
    order by id limit ${BATCH} for update skip locked) f
  order by f.id limit ${BATCH}),
claimed as (
  update event_log e set holder = $1, consumer = $2 from free where e.id = free.id
  returning e.id, e.channel, e.key, e.event_id, e.owner, e.dataset_id, e.source)
select * from claimed order by id`;

interface LogRow {
  readonly id: number;
  readonly channel: string;
  readonly key: string;
  readonly event_id: number;
  readonly owner: UserId;
  readonly dataset_id: DatasetId;
  readonly source: EventSource;
}

interface PostgresEventLogOptions {
  /** Called for messages of a consumed channel whose key nobody wants; they are dropped. */
  readonly onDropped: (channel: string, count: number) => void;
}

export class PostgresEventLog implements EventLog {
  readonly #db: Postgres;
  readonly #rows: ClaimedRows;
  readonly #options: PostgresEventLogOptions;
  readonly #ids: EventIds;

  constructor(db: Postgres, instance: PostgresInstance, options: PostgresEventLogOptions, clock: Clock, log: Logger) {
    this.#db = db;
    this.#options = options;
    this.#rows = new ClaimedRows(db, instance, clock, log);
    this.#ids = new EventIds(db);
  }

  async publish(records: readonly EventRecord[], signal: AbortSignal): Promise<void> {
    for (let from = 0; from < records.length; from += PUBLISH_BATCH) {
      signal.throwIfAborted();
      const batch = records.slice(from, from + PUBLISH_BATCH);
      await this.#db.query(
        PUBLISH,
        [
          batch.map((record) => record.channel),
          batch.map((record) => record.key),
          batch.map(({ event }) => event.eventID),
          batch.map(({ event }) => event.userID),
          batch.map(({ event }) => event.datasetID),
          batch.map(({ event }) => event.source),
        ],
        'log-publish',
      );
    }
  }

  async consume(
    wanted: readonly ChannelFilter[],
    handle: (records: readonly EventRecord[]) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const channels = [...new Set(wanted.map((filter) => filter.channel))];
    const isWanted = (row: LogRow): boolean =>
      wanted.some((filter) => filter.channel === row.channel && filter.key === row.key);
    await this.#rows.consume(
      {
        table: 'event_log',
        channel: NOTIFY_CHANNEL,
        claim: (instance, consumer, others) =>
          this.#db.query<LogRow>(CLAIM, [instance, consumer, others, channels], 'log-claim'),
      },
      async (rows) => {
        const taken = rows.filter(isWanted);
        if (taken.length > 0) await handle(taken.map(eventRecord));
        this.#countDropped(rows.filter((row) => !isWanted(row)));
      },
      signal,
    );
  }

  nextEventId(signal: AbortSignal): Promise<number> {
    return this.#ids.next(signal);
  }

  #countDropped(rows: readonly LogRow[]): void {
    for (const [channel, dropped] of Map.groupBy(rows, (row) => row.channel))
      this.#options.onDropped(channel, dropped.length);
  }
}

const eventRecord = (row: LogRow): EventRecord => ({
  channel: row.channel,
  key: row.key,
  event: { eventID: row.event_id, userID: row.owner, datasetID: row.dataset_id, source: row.source },
});

// Event ids from a sequence of the cache database, whichever event log is used. Each process reserves a block of ids and
// assigns them locally.

/** Increment of the sequence event_id. */
const ID_BLOCK = 1_000;

export class EventIds {
  readonly #db: Postgres;
  #next = 0;
  #end = 0;
  #fetching: Promise<void> | undefined;

  constructor(db: Postgres) {
    this.#db = db;
  }

  /** An integer below 2^53, unique across all processes. */
  async next(signal: AbortSignal): Promise<number> {
    // The first caller that finds the block used up fetches the next one for all.
    while (this.#next >= this.#end) {
      this.#fetching ??= this.#fetch().finally(() => {
        this.#fetching = undefined;
      });
      await unlessAborted(this.#fetching, signal);
    }
    return this.#next++;
  }

  async #fetch(): Promise<void> {
    const [row] = await this.#db.query<{ first: number }>("select nextval('event_id') as first");
    this.#next = row?.first ?? 0;
    this.#end = this.#next + ID_BLOCK;
  }
}
