// One install target: its part of a control schema, which it may share with other targets. Every write first locks the
// dataset's row and rejects a lease token that is lower than the last one. Each operation uses a single statement where
// possible.

import type { DatasetId, TargetId, UserId } from '../../model/ids.ts';
import type { InstallKind, InstallStatus } from '../../model/status.ts';
import type { ObjectVersion, SyncPart } from '../../ports/catalog.ts';
import type { ControlDocument, ControlState, InstallTarget } from '../../ports/install-target.ts';
import { aborted, defect } from '../../runtime/failure.ts';
import { type Postgres, quoteIdentifier, type Sql } from '../postgres/postgres.ts';
import { SqlParameters, statementName, storableText } from '../postgres/sql-parameters.ts';
import { summarise, writeControlDocument } from './control-document.ts';
import { type ControlStateRow, controlState, controlStateColumns } from './target-index-postgres.ts';

interface InstallTargetOptions {
  readonly id: TargetId;
  readonly displayName: string;
  /** The control schema. Named in every statement, because targets with different schemas may share a pool. */
  readonly schema: string;
  /** See {@link InstallTarget.dataSchema}. */
  readonly dataSchema: string;
}

const LOCK = 'select pg_advisory_xact_lock(hashtextextended($1, 0))';

export class PostgresInstallTarget implements InstallTarget {
  readonly id: TargetId;
  readonly dataSchema: string;
  readonly #db: Pick<Postgres, 'query' | 'transaction'>;
  readonly #displayName: string;
  readonly #schema: string;

  constructor(db: Pick<Postgres, 'query' | 'transaction'>, options: InstallTargetOptions) {
    this.id = options.id;
    this.dataSchema = options.dataSchema;
    this.#db = db;
    this.#displayName = options.displayName;
    this.#schema = quoteIdentifier(options.schema);
  }

  async writeDataset(document: ControlDocument, token: number, signal: AbortSignal): Promise<void> {
    const target = { id: this.id, displayName: this.#displayName, schema: this.#schema };
    await this.#db.transaction(async (sql) => {
      // A separate statement, because the next one must see what a target with the same schema has just committed.
      await sql.query(LOCK, [`${this.#schema} ${document.dataset}`], 'control-lock');
      if (!(await writeControlDocument(sql, target, document, token))) throw this.#leaseLost(document.dataset);
    }, signal);
  }

  async state(dataset: DatasetId, signal: AbortSignal): Promise<ControlState> {
    signal.throwIfAborted();
    const s = this.#schema;
    const text = `select ${controlStateColumns(s)}
       from ${s}.dataset_install i join ${s}.dataset d on d.dataset_id = i.dataset_id
       where i.dataset_id = $1 and i.target_id = $2`;
    const [row] = await this.#db.query<ControlStateRow>(text, [dataset, this.id], statementName(text));
    return row ? controlState(row) : { present: false, type: undefined, deletedStatus: 0, messages: {}, sync: {} };
  }

  async writeMessage(
    dataset: DatasetId,
    kind: InstallKind,
    message: { readonly status: InstallStatus; readonly message?: string; readonly version?: ObjectVersion },
    token: number,
    signal: AbortSignal,
  ): Promise<void> {
    const parameters = new SqlParameters();
    const ctes = [
      ...this.#fence(dataset, token, parameters),
      `written as (
        insert into ${this.#schema}.dataset_install_message (dataset_id, target_id, install_type, status, message)
        select k.dataset_id, ${parameters.add(this.id, 'text')}, ${parameters.add(kind, 'text')},
          ${parameters.add(message.status, 'text')},
          ${parameters.add(message.message === undefined ? null : storableText(message.message), 'text')}
        from taken k on conflict (dataset_id, target_id, install_type)
        do update set status = excluded.status, message = excluded.message, updated = excluded.updated)`,
    ];
    if (message.version) ctes.push(this.#syncCte(kind, message.version, parameters));
    await this.#fenced(dataset, ctes, token, parameters, signal);
  }

  async removeMessage(dataset: DatasetId, kind: InstallKind, token: number, signal: AbortSignal): Promise<void> {
    const parameters = new SqlParameters();
    const ctes = [
      ...this.#fence(dataset, token, parameters),
      `removed as (
        delete from ${this.#schema}.dataset_install_message m using taken k
        where m.dataset_id = k.dataset_id and m.target_id = ${parameters.add(this.id, 'text')}
          and m.install_type = ${parameters.add(kind, 'text')})`,
    ];
    await this.#fenced(dataset, ctes, token, parameters, signal);
  }

  async writeVisibility(
    dataset: DatasetId,
    recipients: readonly UserId[],
    version: ObjectVersion,
    token: number,
    signal: AbortSignal,
  ): Promise<void> {
    const s = this.#schema;
    const parameters = new SqlParameters();
    const ctes = [
      ...this.#fence(dataset, token, parameters),
      `visible as (
        select unnest(${parameters.add(recipients, 'numeric[]')}) as user_id, dataset_id from taken
        union select owner, dataset_id from taken)`,
      `hidden as (
        delete from ${s}.dataset_visibility v using taken k
        where v.dataset_id = k.dataset_id and v.user_id not in (select user_id from visible))`,
      `shown as (
        insert into ${s}.dataset_visibility (user_id, dataset_id) select user_id, dataset_id from visible
        on conflict do nothing)`,
      this.#syncCte('shares', version, parameters),
    ];
    await this.#fenced(dataset, ctes, token, parameters, signal);
  }

  async setDeleted(dataset: DatasetId, deletedStatus: 0 | 1 | 2, token: number, signal: AbortSignal): Promise<void> {
    const parameters = new SqlParameters();
    const ctes = [
      ...this.#fence(dataset, token, parameters),
      `marked as (
        update ${this.#schema}.dataset_install i set deleted_status = ${parameters.add(deletedStatus, 'smallint')}
        from taken k where i.dataset_id = k.dataset_id and i.target_id = ${parameters.add(this.id, 'text')})`,
    ];
    await this.#db.transaction(async (sql) => {
      if (!(await taken(sql, ctes, parameters))) throw await this.#refusal(sql, dataset, token);
      await sql.query(summarise(this.#schema, '$1'), [dataset]);
    }, signal);
  }

  async purge(dataset: DatasetId, token: number, signal: AbortSignal): Promise<void> {
    const s = this.#schema;
    const parameters = new SqlParameters();
    const ctes = [
      ...this.#fence(dataset, token, parameters),
      `removed as (
        delete from ${s}.dataset_install i using taken k
        where i.dataset_id = k.dataset_id and i.target_id = ${parameters.add(this.id, 'text')})`,
    ];
    await this.#db.transaction(async (sql) => {
      if (!(await taken(sql, ctes, parameters))) {
        if (await this.#newerHolder(sql, dataset, token)) throw this.#leaseLost(dataset);
        return;
      }
      await sql.query(
        `delete from ${s}.dataset d where d.dataset_id = $1
         and not exists (select from ${s}.dataset_install i where i.dataset_id = d.dataset_id)`,
        [dataset],
      );
      await sql.query(summarise(s, '$1'), [dataset]);
    }, signal);
  }

  /**
   * CTEs that lock the dataset's row under our token. If a holder with a higher token has written before, or this target has no
   * row, `taken` is empty and the CTEs that depend on it do nothing.
   */
  #fence(dataset: DatasetId, token: number, parameters: SqlParameters): string[] {
    const s = this.#schema;
    const ours = parameters.add(token, 'bigint');
    return [
      `taken as materialized (
        select d.dataset_id, d.owner, d.lease_token from ${s}.dataset d
        where d.dataset_id = ${parameters.add(dataset, 'text')} and d.lease_token <= ${ours}
          and exists (select from ${s}.dataset_install i
            where i.dataset_id = d.dataset_id and i.target_id = ${parameters.add(this.id, 'text')})
        for update of d)`,
      `raised as (
        update ${s}.dataset d set lease_token = ${ours} from taken k
        where d.dataset_id = k.dataset_id and k.lease_token < ${ours})`,
    ];
  }

  /** One statement, which writes all or nothing. */
  async #fenced(
    dataset: DatasetId,
    ctes: readonly string[],
    token: number,
    parameters: SqlParameters,
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    if (!(await taken(this.#db, ctes, parameters))) throw await this.#refusal(this.#db, dataset, token);
  }

  #syncCte(part: SyncPart, version: ObjectVersion, parameters: SqlParameters): string {
    return `synced as (
      insert into ${this.#schema}.sync_control (dataset_id, target_id, part, modified, etag)
      select k.dataset_id, ${parameters.add(this.id, 'text')}, ${parameters.add(part, 'text')},
        ${parameters.add(version.modified, 'timestamptz')}, ${parameters.add(version.etag, 'text')}
      from taken k on conflict (dataset_id, target_id, part)
      do update set modified = excluded.modified, etag = excluded.etag)`;
  }

  async #refusal(sql: Sql, dataset: DatasetId, token: number): Promise<Error> {
    if (await this.#newerHolder(sql, dataset, token)) return this.#leaseLost(dataset);
    return defect(`dataset ${dataset} has no row in the control schema of install target ${this.id}`);
  }

  async #newerHolder(sql: Sql, dataset: DatasetId, token: number): Promise<boolean> {
    const rows = await sql.query(`select from ${this.#schema}.dataset where dataset_id = $1 and lease_token > $2`, [
      dataset,
      token,
    ]);
    return rows.length > 0;
  }

  #leaseLost(dataset: DatasetId): Error {
    return aborted(`dataset ${dataset}: lease lost (a newer holder wrote to install target ${this.id})`);
  }
}

async function taken(sql: Sql, ctes: readonly string[], parameters: SqlParameters): Promise<boolean> {
  const text = `with ${ctes.join(',\n')} select dataset_id from taken`;
  const rows = await sql.query(text, parameters.values, statementName(text));
  return rows.length > 0;
}
