// Pauses in the cache database.

import { BACKUP_REASON, type Pause, type PauseKind, type Pauses } from '../../ports/pauses.ts';
import type { Postgres, Sql } from '../postgres/postgres.ts';
import type { PostgresInstance } from '../postgres/postgres-instance.ts';
import { storableText } from '../postgres/sql-parameters.ts';
import { JOB_CHANNEL } from './enqueue-jobs.ts';

const PAUSE_CHANNEL = 'longshore_pause';
/** Most jobs that one statement makes due. */
const RELEASE_BATCH = 5_000;

const COLUMNS = 'kind, name, since, paused_by, reason, until';

const SET = `
with written as (
  insert into pause as p (kind, name, paused_by, reason, until) values ($1, $2, $3, $4, $5)
  on conflict (kind, name) do update set paused_by = excluded.paused_by, reason = excluded.reason, until = excluded.until,
    since = case when p.until <= now() then now() else p.since end
  returning *)
select ${COLUMNS}, pg_notify('${PAUSE_CHANNEL}', '') from written`;

const END = `
with ended as (
  delete from pause where kind = $1 and name = $2 returning coalesce(until > now(), true) as in_force)
select in_force, pg_notify('${PAUSE_CHANNEL}', '') from ended`;

/** Jobs are locked in the order in which completions and new requests lock them. */
const RELEASE = `
with over as materialized (
  select w.* from pause_wait w left join job j on j.dataset_id = w.dataset_id and j.lane = w.lane
  where j.state is distinct from 'running' and not exists (
    select from pause p where p.kind = w.kind and p.name = w.name and (p.until is null or p.until > now()))
  order by j.id limit $1),
gone as (
  delete from pause_wait w using over o
  where w.kind = o.kind and w.name = o.name and w.lane = o.lane and w.dataset_id = o.dataset_id),
waiting as materialized (
  select j.id from job j join (select distinct lane, dataset_id from over) o
    on j.dataset_id = o.dataset_id and j.lane = o.lane
  where j.state = 'delayed' and j.run_at > now() order by j.dataset_id, j.lane for update of j),
due as (update job j set run_at = now() from waiting w where j.id = w.id returning j.lane),
woken as materialized (select pg_notify('${JOB_CHANNEL}', d.lane) from (select distinct lane from due) d)
select (select count(*) from over) as seen, (select count(*) from due) as due, (select count(*) from woken) as lanes`;

interface PauseRow {
  readonly kind: PauseKind;
  readonly name: string;
  readonly since: Date;
  readonly paused_by: string;
  readonly reason: string | null;
  readonly until: Date | null;
}

export class PostgresPauses implements Pauses {
  readonly #db: Pick<Postgres, 'query'>;
  readonly #instance: Pick<PostgresInstance, 'listen'>;

  constructor(db: Pick<Postgres, 'query'>, instance: Pick<PostgresInstance, 'listen'>) {
    this.#db = db;
    this.#instance = instance;
  }

  list: Pauses['list'] = async (signal) => {
    signal.throwIfAborted();
    const rows = await this.#db.query<PauseRow>(
      `select ${COLUMNS} from pause where until is null or until > now() order by kind, name`,
    );
    return rows.map(pauseOf);
  };

  set: Pauses['set'] = async ({ kind, name, by, reason, until }, signal) => {
    signal.throwIfAborted();
    const text = reason === undefined ? null : storableText(reason);
    const [row] = await this.#db.query<PauseRow>(SET, [kind, name, storableText(by), text, until ?? null]);
    return pauseOf(row as PauseRow);
  };

  end: Pauses['end'] = async ({ kind, name }, signal) => {
    signal.throwIfAborted();
    const [ended] = await this.#db.query<{ in_force: boolean }>(END, [kind, name]);
    return ended?.in_force ?? false;
  };

  wait: Pauses['wait'] = async ({ kind, name, lane, dataset }, signal) => {
    signal.throwIfAborted();
    await this.#db.query(
      'insert into pause_wait (kind, name, lane, dataset_id) values ($1, $2, $3, $4) on conflict do nothing',
      [kind, name, lane, dataset],
    );
  };

  release: Pauses['release'] = async (signal) => {
    let released = 0;
    for (;;) {
      signal.throwIfAborted();
      const [done] = await this.#db.query<{ seen: number; due: number }>(RELEASE, [RELEASE_BATCH]);
      released += done?.due ?? 0;
      if ((done?.seen ?? 0) < RELEASE_BATCH) return released;
    }
  };

  watch(changed: () => void): () => void {
    return this.#instance.listen(PAUSE_CHANNEL, () => changed());
  }
}

/** Ends the pauses of a backup of a server that is gone: they are part of what was backed up, and of no use after it. */
export async function endBackupPauses(sql: Sql): Promise<void> {
  await sql.query('delete from pause where reason = $1', [BACKUP_REASON]);
}

const pauseOf = ({ kind, name, since, paused_by, reason, until }: PauseRow): Pause => ({
  ...{ kind, name, since, by: paused_by },
  reason: reason ?? undefined,
  until: until ?? undefined,
});
