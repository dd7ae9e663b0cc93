// What happens to import jobs and import statuses in a cache database, in the order of the commits: triggers tell it
// by notifications, which PostgreSQL delivers in that order.

import pg from 'pg';
import { CACHE_SCHEMA } from '../../bin/compose/databases.ts';
import type { TestDatabase } from './database.ts';

interface Teardown {
  teardown(fn: () => unknown): void;
}

/**
 * `import STATUS`: of the dataset; `dead` and `gone`: its import job; `claimed`: by a lane. Jobs of one claim are in the order of
 * their arrival: PostgreSQL updates the rows of a statement in any order.
 */
export interface HistoryEntry {
  readonly dataset: string;
  readonly what: string;
  /** With `claimed`: import jobs of the same type that lanes hold by now. */
  readonly held?: number;
  /** With `claimed`: queued import jobs of other types. */
  readonly othersWait?: number;
}

const TRIGGERS = `
create function ${CACHE_SCHEMA}.tell_import() returns trigger language plpgsql as $$
begin
  perform pg_notify('history', json_build_object('dataset', new.dataset_id, 'what', 'import ' || new.import_status)::text);
  return null;
end $$;
create trigger tell_import after update of import_status on ${CACHE_SCHEMA}.dataset
  for each row when (old.import_status is distinct from new.import_status) execute function ${CACHE_SCHEMA}.tell_import();

create function ${CACHE_SCHEMA}.tell_claim() returns trigger language plpgsql as $$
begin
  perform pg_notify('history', json_build_object('dataset', claimed.dataset_id, 'what', 'claimed',
    'held', (select count(*) from ${CACHE_SCHEMA}.job j
      where j.lane = 'import' and j.state = 'running' and j.type = claimed.type),
    'othersWait', (select count(*) from ${CACHE_SCHEMA}.job j
      where j.lane = 'import' and j.state = 'queued' and j.type <> claimed.type))::text)
  from (select j.* from after j join before using (id)
    where j.lane = 'import' and j.state = 'running' and j.token is distinct from before.token order by j.id) claimed;
  return null;
end $$;
create trigger tell_claim after update on ${CACHE_SCHEMA}.job referencing old table as before new table as after
  for each statement execute function ${CACHE_SCHEMA}.tell_claim();

create function ${CACHE_SCHEMA}.tell_job() returns trigger language plpgsql as $$
begin
  perform pg_notify('history', json_build_object('dataset', old.dataset_id, 'what', tg_argv[0])::text);
  return null;
end $$;
create trigger tell_dead after update of state on ${CACHE_SCHEMA}.job
  for each row when (new.lane = 'import' and new.state = 'dead') execute function ${CACHE_SCHEMA}.tell_job('dead');
create trigger tell_gone after delete on ${CACHE_SCHEMA}.job
  for each row when (old.lane = 'import') execute function ${CACHE_SCHEMA}.tell_job('gone');`;

export class ImportsHistory {
  readonly entries: HistoryEntry[] = [];
  readonly #changed = new EventTarget();

  /** From now on; the tables exist already. */
  static async open(t: Teardown, at: TestDatabase): Promise<ImportsHistory> {
    const history = new ImportsHistory();
    const client = new pg.Client(at);
    t.teardown(() => client.end());
    client.on('notification', ({ payload }) => {
      history.entries.push(JSON.parse(payload ?? '') as HistoryEntry);
      history.#changed.dispatchEvent(new Event('entry'));
    });
    await client.connect();
    await client.query(TRIGGERS);
    await client.query('listen history');
    return history;
  }

  /**
   * Resolves once each of the datasets has an entry that says so, after the first `from` entries; rejects when one comes
   * to its other end.
   */
  async each(datasets: readonly string[], what: 'dead' | 'gone', from = 0): Promise<void> {
    const missing = new Set(datasets);
    let seen = from;
    const look = (): boolean => {
      for (; seen < this.entries.length; seen++) {
        const entry = this.entries[seen];
        if (!entry || !missing.has(entry.dataset)) continue;
        if (entry.what === what) missing.delete(entry.dataset);
        else if (entry.what === 'dead' || entry.what === 'gone')
          throw new Error(`dataset ${entry.dataset} is '${entry.what}', not '${what}'`);
      }
      return missing.size === 0;
    };
    if (look()) return;
    await new Promise<void>((resolve, reject) => {
      const onEntry = (): void => {
        try {
          if (!look()) return;
          resolve();
        } catch (error) {
          reject(error);
        }
        this.#changed.removeEventListener('entry', onEntry);
      };
      this.#changed.addEventListener('entry', onEntry);
    });
  }

  /** Those of these datasets that say so, oldest first. */
  entriesOf(datasets: readonly string[], what: string): readonly HistoryEntry[] {
    const wanted = new Set(datasets);
    return this.entries.filter((entry) => entry.what === what && wanted.has(entry.dataset));
  }
}
