// Profiles of people in the cache DB.

import { addressKey } from '../../model/access-mail.ts';
import type { UserId } from '../../model/ids.ts';
import type { Accounts, AddressBook, Profile } from '../../ports/access-people.ts';
import { defect } from '../../runtime/failure.ts';
import type { Sql } from '../postgres/postgres.ts';
import { storableText } from '../postgres/sql-parameters.ts';

const MAX_IDS = 1_000;

interface AccountRow {
  readonly user_id: UserId;
  readonly first_name: string;
  readonly last_name: string;
  readonly email: string;
  readonly affiliation: string;
}

export class PostgresAccounts implements Accounts {
  readonly #db: Sql;

  constructor(db: Sql) {
    this.#db = db;
  }

  async remember(profile: Profile, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const texts = [profile.firstName, profile.lastName, profile.email, profile.affiliation].map(storableText);
    // Checks before the insert: an upsert locks, and so writes, the row even when it updates nothing.
    await this.#db.query(
      `insert into account (user_id, first_name, last_name, email, affiliation, address_key)
       select $1::numeric, $2::text, $3::text, $4::text, $5::text, $6::text
       where not exists (select from account where user_id = $1::numeric
         and (first_name, last_name, email, affiliation) = ($2, $3, $4, $5) and address_key is not distinct from $6)
       on conflict (user_id) do update set first_name = excluded.first_name, last_name = excluded.last_name,
         email = excluded.email, affiliation = excluded.affiliation, address_key = excluded.address_key,
         updated = excluded.updated`,
      [profile.userId, ...texts, profile.email === '' ? null : (addressKey(profile.email) ?? null)],
    );
  }

  async find(ids: readonly UserId[], signal: AbortSignal): Promise<ReadonlyMap<UserId, Profile>> {
    if (ids.length > MAX_IDS) throw defect(`${ids.length} profiles requested at once; at most ${MAX_IDS}`);
    if (ids.length === 0) return new Map();
    signal.throwIfAborted();
    const rows = await this.#db.query<AccountRow>(
      `select user_id::text as user_id, first_name, last_name, email, affiliation from account
       where user_id = any ($1::numeric[])`,
      [ids],
      'accounts',
    );
    return new Map(rows.map((row) => [row.user_id, profileOf(row)]));
  }
}

const profileOf = (row: AccountRow): Profile => ({
  userId: row.user_id,
  firstName: row.first_name,
  lastName: row.last_name,
  email: row.email,
  affiliation: row.affiliation,
});

/** Looks up accounts of the cache DB by mail address. */
export class PostgresAddressBook implements AddressBook {
  readonly #db: Sql;

  constructor(db: Sql) {
    this.#db = db;
  }

  async usersAt(email: string, signal: AbortSignal): Promise<readonly UserId[]> {
    signal.throwIfAborted();
    const key = addressKey(email);
    if (key === undefined || key === '') return [];
    const rows = await this.#db.query<{ user_id: UserId }>(
      'select user_id::text as user_id from account where address_key = $1 order by account.user_id limit 2',
      [key],
    );
    return rows.map((row) => row.user_id);
  }
}
