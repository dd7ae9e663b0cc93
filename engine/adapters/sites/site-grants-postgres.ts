// Grants in the control schema of one target. Other targets may share the schema; the first to write updates it for all.

import type { TargetId } from '../../model/ids.ts';
import type { GrantChange, SiteGrants } from '../../ports/access-requests.ts';
import { type Postgres, quoteIdentifier, type Sql } from '../postgres/postgres.ts';
import { statementName } from '../postgres/sql-parameters.ts';

export interface SiteGrantsOptions {
  readonly id: TargetId;
  /** The control schema. */
  readonly schema: string;
}

export class PostgresSiteGrants implements SiteGrants {
  readonly id: TargetId;
  readonly #db: Pick<Postgres, 'query' | 'transaction'>;
  readonly #schema: string;

  constructor(db: Pick<Postgres, 'query' | 'transaction'>, { id, schema }: SiteGrantsOptions) {
    this.id = id;
    this.#db = db;
    this.#schema = quoteIdentifier(schema);
  }

  async known(source: string, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    const found = await this.#told(this.#db, source);
    if (found !== undefined) return found;
    const s = this.#schema;
    return this.#db.transaction(async (sql) => {
      await sql.query(`lock table ${s}.dataset_grant_told in exclusive mode`);
      const other = await this.#told(sql, source);
      if (other !== undefined) return other;
      await sql.query(`delete from ${s}.dataset_grant`);
      await sql.query(`delete from ${s}.dataset_grant_told`);
      await sql.query(`insert into ${s}.dataset_grant_told (source, number) values ($1, 0)`, [source]);
      return 0;
    }, signal);
  }

  async tell(source: string, after: number, changes: readonly GrantChange[], signal: AbortSignal): Promise<void> {
    const last = changes.at(-1);
    if (!last) return;
    const s = this.#schema;
    await this.#db.transaction(async (sql) => {
      const moved = await sql.query(
        `update ${s}.dataset_grant_told set number = $3 where source = $1 and number = $2 returning number`,
        [source, after, last.number],
      );
      if (moved.length === 0) return;
      const given = changes.filter((change) => change.grant !== undefined);
      const gone = changes.filter((change) => change.grant === undefined);
      await sql.query(
        `delete from ${s}.dataset_grant g using unnest($1::text[], $2::numeric[]) c (dataset_id, user_id)
         where g.original_id = c.dataset_id and g.user_id = c.user_id`,
        [gone.map((change) => change.root), gone.map((change) => change.user)],
      );
      await sql.query(
        `insert into ${s}.dataset_grant (original_id, owner, user_id, begins, ends)
         select * from unnest($1::text[], $2::numeric[], $3::numeric[], $4::timestamptz[], $5::timestamptz[])
         on conflict (original_id, user_id)
           do update set owner = excluded.owner, begins = excluded.begins, ends = excluded.ends`,
        [
          given.map((change) => change.root),
          given.map((change) => change.owner),
          given.map((change) => change.user),
          given.map((change) => change.grant?.begins),
          given.map((change) => change.grant?.ends ?? null),
        ],
      );
    }, signal);
  }

  async #told(sql: Sql, source: string): Promise<number | undefined> {
    const text = `select number from ${this.#schema}.dataset_grant_told where source = $1`;
    const [row] = await sql.query<{ number: number }>(text, [source], statementName(text));
    return row?.number;
  }
}
