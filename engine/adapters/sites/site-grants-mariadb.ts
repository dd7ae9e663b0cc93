// Grants in the control schema of one target on MariaDB: like site-grants-postgres.ts.

import type { TargetId } from '../../model/ids.ts';
import type { GrantChange, SiteGrants } from '../../ports/access-requests.ts';
import { type JsonColumns, jsonRows, jsonTable } from '../mariadb/json-rows.ts';
import { type MariaDb, quoteName } from '../mariadb/mariadb.ts';
import type { Sql } from '../postgres/postgres.ts';
import type { SiteGrantsOptions } from './site-grants-postgres.ts';

const GRANT: JsonColumns = { original_id: 'text', user_id: 'decimal(19)' };
const GIVEN: JsonColumns = { ...GRANT, owner: 'decimal(19)', begins: 'datetime(6)', ends: 'datetime(6)' };

export class MariaDbSiteGrants implements SiteGrants {
  readonly id: TargetId;
  readonly #db: Pick<MariaDb, 'query' | 'transaction'>;
  readonly #schema: string;

  constructor(db: Pick<MariaDb, 'query' | 'transaction'>, { id, schema }: SiteGrantsOptions) {
    this.id = id;
    this.#db = db;
    this.#schema = quoteName(schema);
  }

  async known(source: string, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    const found = await this.#told(this.#db, source);
    if (found !== undefined) return found;
    const s = this.#schema;
    return this.#db.transaction(async (sql) => {
      // Another process that inserts the same row waits for us, and changes nothing then.
      const first = await sql.query(
        `insert ignore into ${s}.dataset_grant_told (source, number) values (?, 0) returning source`,
        [source],
      );
      if (first.length === 0) return (await this.#told(sql, source)) ?? 0;
      await sql.query(`delete from ${s}.dataset_grant`);
      await sql.query(`delete from ${s}.dataset_grant_told where source <> ?`, [source]);
      return 0;
    }, signal);
  }

  async tell(source: string, after: number, changes: readonly GrantChange[], signal: AbortSignal): Promise<void> {
    const last = changes.at(-1);
    if (!last) return;
    const s = this.#schema;
    await this.#db.transaction(async (sql) => {
      if ((await this.#told(sql, source, 'for update')) !== after) return;
      await sql.query(`update ${s}.dataset_grant_told set number = ? where source = ?`, [last.number, source]);
      const gone = changes.filter((change) => change.grant === undefined);
      await sql.query(
        `delete g from ${s}.dataset_grant g join ${jsonTable(GRANT)}
           on g.original_id = x.original_id and g.user_id = x.user_id`,
        [jsonRows(gone.map((change) => [change.root, change.user]))],
      );
      const given = changes.flatMap(({ grant, root, user, owner }) =>
        grant ? [[root, user, owner, grant.begins, grant.ends ?? null]] : [],
      );
      await sql.query(
        `insert into ${s}.dataset_grant (${Object.keys(GIVEN)}) select x.* from ${jsonTable(GIVEN)}
         on duplicate key update owner = values(owner), begins = values(begins), ends = values(ends)`,
        [jsonRows(given)],
      );
    }, signal);
  }

  async #told(sql: Sql, source: string, lock: '' | 'for update' = ''): Promise<number | undefined> {
    const text = `select number from ${this.#schema}.dataset_grant_told where source = ? ${lock}`;
    const [row] = await sql.query<{ number: number }>(text, [source]);
    return row?.number;
  }
}
