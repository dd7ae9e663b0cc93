// Users' datasets in the cache DB, whether or not they are installed.

import type { DatasetId, UserId } from '../../model/ids.ts';
import type { StoredVisibility } from '../../model/status.ts';
import type { UserDataset, UserDatasets } from '../../ports/access-datasets.ts';
import type { Postgres } from '../postgres/postgres.ts';

interface Row {
  readonly root_id: DatasetId;
  readonly owner_id: UserId;
  readonly name: string;
  readonly summary: string | null;
  readonly visibility: StoredVisibility;
  readonly days_for_approval: number | null;
}

export class PostgresUserDatasets implements UserDatasets {
  readonly #db: Pick<Postgres, 'query'>;

  constructor(db: Pick<Postgres, 'query'>) {
    this.#db = db;
  }

  async find(dataset: DatasetId, signal: AbortSignal): Promise<UserDataset | undefined> {
    signal.throwIfAborted();
    // An original that was pruned leaves its revisions. No owner's metadata make a dataset a revision of somebody else's.
    const [row] = await this.#db.query<Row>(
      `select n.root_id, n.owner_id::text as owner_id, n.name, n.metadata ->> 'summary' as summary, n.visibility,
         (n.metadata ->> 'daysForApproval')::integer as days_for_approval
       from dataset n
       where n.root_id = coalesce((select d.root_id from dataset d where d.dataset_id = $1), $1) and n.state = 'live'
         and n.owner_id = coalesce((select d.owner_id from dataset d where d.dataset_id = $1), n.owner_id)
       order by n.revision desc limit 1`,
      [dataset],
      'user-dataset',
    );
    return (
      row && {
        root: row.root_id,
        owner: row.owner_id,
        name: row.name,
        summary: row.summary ?? '',
        visibility: row.visibility,
        daysForApproval: row.days_for_approval ?? -1,
      }
    );
  }
}
