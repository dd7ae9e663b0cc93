// Looks up accounts of the cache DB by mail address.

import { addressKey } from '../../model/access-mail.ts';
import type { UserId } from '../../model/ids.ts';
import type { AddressBook } from '../../ports/accounts.ts';
import type { Sql } from '../postgres/postgres.ts';

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
