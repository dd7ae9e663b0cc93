// Grants for users' own datasets, as ../../model/access-request.ts says which are in force.

import type { UserId } from '../../model/ids.ts';
import type { GrantedDataset, Grants } from '../../ports/grants.ts';
import type { Postgres } from '../postgres/postgres.ts';

export class PostgresGrants implements Grants {
  readonly #db: Pick<Postgres, 'query'>;

  constructor(db: Pick<Postgres, 'query'>) {
    this.#db = db;
  }

  async holds(user: UserId, { root, owner }: GrantedDataset, now: Date, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    // The end is a number of milliseconds: no timestamp is that far away.
    const rows = await this.#db.query(
      `select e.end_user_id from end_user e join curated_dataset c on c.dataset_id = e.dataset_id
       where e.user_id = $1::numeric and e.dataset_id = $2 and c.owner_id = $3::numeric
         and e.approval_status = 'approved' and e.start_date <= $4::timestamptz
         and (e.duration <= 0
           or extract(epoch from $4::timestamptz - e.start_date)::numeric < e.duration::numeric * 86400)`,
      [user, root, owner, now],
      'grant',
    );
    return rows.length > 0;
  }
}
