// Staff of the site. Concurrent removals of owners are serialized; otherwise two of them could remove the last owner.

import type { CuratedId } from '../../model/access-request.ts';
import type { UserId } from '../../model/ids.ts';
import type {
  AccessRoles,
  AccessStaff,
  Cause,
  Listing,
  PageRequest,
  Roles,
  StaffChange,
  StaffMember,
} from '../../ports/access-people.ts';
import type { Postgres, Sql } from '../postgres/postgres.ts';
import { boundedPage, type PageRow, rowBatches } from '../postgres/row-pages.ts';
import { causing } from './causing.ts';

/** Rows in memory at once. */
const BATCH = 1_000;

const LIST = boundedPage(`
  select staff_id, user_id::text as user_id, is_owner from staff where staff_id > $3::bigint
  order by staff_id limit $1::bigint offset $2::bigint`);

interface StaffRow extends PageRow {
  readonly staff_id: number;
  readonly user_id: UserId;
  readonly is_owner: boolean;
}

export class PostgresAccessStaff implements AccessStaff {
  readonly #db: Pick<Postgres, 'query' | 'transaction'>;

  constructor(db: Pick<Postgres, 'query' | 'transaction'>) {
    this.#db = db;
  }

  async list({ limit, offset }: PageRequest, signal: AbortSignal): Promise<Listing<StaffMember>> {
    signal.throwIfAborted();
    const [count] = await this.#db.query<{ total: number }>(
      "select staff as total from people_count where dataset_id = ''",
    );
    return { items: this.#batches({ limit, offset }, signal), total: count?.total ?? 0 };
  }

  async *#batches(
    { limit, offset }: PageRequest,
    signal: AbortSignal,
  ): AsyncGenerator<readonly StaffMember[], void, undefined> {
    const batches = rowBatches<StaffRow, number>({
      read: (count, after) => this.#db.query(LIST, [count, after === undefined ? offset : 0, after ?? 0], 'staff'),
      placeOf: ({ staff_id }) => staff_id,
      batchSize: BATCH,
      limit,
      signal,
    });
    for await (const batch of batches) yield batch.map(staffMember);
  }

  add(user: UserId, isOwner: boolean, cause: Cause, signal: AbortSignal): Promise<number | undefined> {
    const insert = async (sql: Sql): Promise<number | undefined> => {
      const [row] = await sql.query<{ staff_id: number }>(
        `insert into staff (user_id, is_owner) values ($1::numeric, $2)
         on conflict (user_id) do nothing returning staff_id`,
        [user, isOwner],
      );
      return row?.staff_id;
    };
    return causing(this.#db, cause, insert, signal);
  }

  setOwner(staffId: number, isOwner: boolean, cause: Cause, signal: AbortSignal): Promise<StaffChange> {
    const update = async (sql: Sql): Promise<StaffChange> => {
      const state = await lockedState(sql, staffId);
      if (!isOwner && state === 'last-owner') return state;
      if (state === 'absent') return state;
      await sql.query('update staff set is_owner = $2 where staff_id = $1 and is_owner <> $2', [staffId, isOwner]);
      return 'changed';
    };
    return causing(this.#db, cause, update, signal);
  }

  remove(staffId: number, cause: Cause, signal: AbortSignal): Promise<StaffChange> {
    const remove = async (sql: Sql): Promise<StaffChange> => {
      const state = await lockedState(sql, staffId);
      if (state !== 'other') return state;
      await sql.query('delete from staff where staff_id = $1', [staffId]);
      return 'changed';
    };
    return causing(this.#db, cause, remove, signal);
  }
}

/** The lock allows concurrent reads of the table, but no writes. */
async function lockedState(sql: Sql, staffId: number): Promise<'absent' | 'last-owner' | 'other'> {
  await sql.query('lock table staff in share row exclusive mode');
  const [row] = await sql.query<{ is_last: boolean }>(
    `select is_owner and not exists (select from staff o where o.is_owner and o.staff_id <> s.staff_id) as is_last
     from staff s where staff_id = $1`,
    [staffId],
  );
  if (!row) return 'absent';
  return row.is_last ? 'last-owner' : 'other';
}

const staffMember = (row: StaffRow): StaffMember => ({
  staffId: row.staff_id,
  userId: row.user_id,
  isOwner: row.is_owner,
});

// A person's roles at the site and for one dataset, read for each request.

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
