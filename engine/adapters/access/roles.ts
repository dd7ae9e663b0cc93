// A person's roles at the site and for one dataset, read for each request.

import type { CuratedId } from '../../model/access-request.ts';
import type { UserId } from '../../model/ids.ts';
import type { AccessRoles, Roles } from '../../ports/access-people.ts';
import type { Postgres } from '../postgres/postgres.ts';

interface RoleRow {
  readonly is_owner: boolean | null;
  readonly is_manager: boolean | null;
}

export class PostgresAccessRoles implements AccessRoles {
  readonly #db: Pick<Postgres, 'query'>;

  constructor(db: Pick<Postgres, 'query'>) {
    this.#db = db;
  }

  async roles(user: UserId, dataset: CuratedId | undefined, signal: AbortSignal): Promise<Roles> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<RoleRow>(
      `select (select s.is_owner from staff s where s.user_id = $1::numeric) as is_owner,
         (select p.is_manager from provider p where p.user_id = $1::numeric and p.dataset_id = $2::text) as is_manager`,
      [user, dataset ?? null],
      'access-roles',
    );
    const { is_owner: owner, is_manager: manager } = row ?? { is_owner: null, is_manager: null };
    return {
      isStaff: owner !== null,
      isOwner: owner === true,
      isProvider: manager !== null,
      isManager: manager === true,
    };
  }
}
