// Changes of grants, numbered by the triggers of the access schema.

import type { DatasetId, UserId } from '../../model/ids.ts';
import type { GrantChange, GrantChanges } from '../../ports/grants.ts';
import type { Postgres } from '../postgres/postgres.ts';

const PAGE = 500;
/** More days mean no expiry: no timestamp is that far in the future. */
const MAX_DAYS = 1_000_000;

interface Row {
  readonly number: number;
  readonly dataset_id: DatasetId;
  readonly owner_id: UserId;
  readonly user_id: UserId;
  readonly begins: Date | null;
  readonly ends: Date | null;
}

export class PostgresGrantChanges implements GrantChanges {
  readonly #db: Pick<Postgres, 'query'>;

  constructor(db: Pick<Postgres, 'query'>) {
    this.#db = db;
  }

  async source(signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<{ source: string }>('select source::text as source from grant_number');
    return row?.source ?? '';
  }

  async after(number: number, signal: AbortSignal): Promise<readonly GrantChange[]> {
    signal.throwIfAborted();
    const rows = await this.#db.query<Row>(
      `select g.number, g.dataset_id, c.owner_id::text as owner_id, g.user_id::text as user_id, e.start_date as begins,
         case when e.duration between 1 and ${MAX_DAYS} then e.start_date + e.duration * interval '24 hours' end as ends
       from grant_change g join curated_dataset c on c.dataset_id = g.dataset_id
       left join end_user e on e.dataset_id = g.dataset_id and e.user_id = g.user_id and e.approval_status = 'approved'
       where g.number > $1 order by g.number limit ${PAGE}`,
      [number],
      'grant-changes',
    );
    return rows.map((row) => ({
      number: row.number,
      root: row.dataset_id,
      owner: row.owner_id,
      user: row.user_id,
      grant: row.begins === null ? undefined : { begins: row.begins, ends: row.ends ?? undefined },
    }));
  }
}
