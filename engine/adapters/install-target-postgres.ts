// One install target: its part of a control schema, which it may share with other targets. Every write is a
// transaction that first takes the dataset's row and refuses a lease token lower than the last one.

import { aborted, defect } from '../failure.ts';
import type { DatasetId, TargetId, UserId } from '../model/ids.ts';
import type { InstallKind, InstallStatus } from '../model/status.ts';
import type { ObjectVersion, SyncPart } from '../ports/catalog.ts';
import type { ControlDocument, ControlState, InstallMessage, InstallTarget } from '../ports/install-target.ts';
import { writeControlDocument } from './control-document.ts';
import { type Postgres, quoteIdentifier, type Sql } from './postgres.ts';
import { storableText } from './storable-text.ts';

export interface InstallTargetOptions {
  readonly id: TargetId;
  readonly displayName: string;
  /** The control schema; named in every statement, because targets with different schemas may share a pool. */
  readonly schema: string;
}

interface StateRow {
  readonly deleted_status: 0 | 1 | 2;
  readonly messages: { kind: InstallKind; status: InstallStatus; message: string | null; updated: number }[] | null;
  readonly syncs: { part: SyncPart; etag: string; modified: number }[] | null;
}

export class PostgresInstallTarget implements InstallTarget {
  readonly id: TargetId;
  readonly #db: Pick<Postgres, 'query' | 'transaction'>;
  readonly #displayName: string;
  readonly #schema: string;

  constructor(db: Pick<Postgres, 'query' | 'transaction'>, options: InstallTargetOptions) {
    this.id = options.id;
    this.#db = db;
    this.#displayName = options.displayName;
    this.#schema = quoteIdentifier(options.schema);
  }

  async writeDataset(document: ControlDocument, token: number, signal: AbortSignal): Promise<void> {
    await this.#db.transaction(async (sql) => {
      const target = { id: this.id, displayName: this.#displayName, schema: this.#schema };
      if (!(await writeControlDocument(sql, target, document, token))) throw this.#leaseLost(document.dataset);
      await this.#summarise(sql, document.dataset);
    }, signal);
  }

  async state(dataset: DatasetId, signal: AbortSignal): Promise<ControlState> {
    signal.throwIfAborted();
    const s = this.#schema;
    const [row] = await this.#db.query<StateRow>(
      `select i.deleted_status,
         (select json_agg(json_build_object('kind', m.install_type, 'status', m.status, 'message', m.message,
             'updated', (extract(epoch from m.updated) * 1000)::bigint)) from ${s}.dataset_install_message m
           where m.dataset_id = i.dataset_id and m.target_id = i.target_id) as messages,
         (select json_agg(json_build_object('part', c.part, 'etag', c.etag,
             'modified', (extract(epoch from c.modified) * 1000)::bigint)) from ${s}.sync_control c
           where c.dataset_id = i.dataset_id and c.target_id = i.target_id) as syncs
       from ${s}.dataset_install i where i.dataset_id = $1 and i.target_id = $2`,
      [dataset, this.id],
    );
    if (!row) return { present: false, deletedStatus: 0, messages: {}, sync: {} };
    return {
      present: true,
      deletedStatus: row.deleted_status,
      messages: Object.fromEntries((row.messages ?? []).map((message) => [message.kind, installMessage(message)])),
      sync: Object.fromEntries(
        (row.syncs ?? []).map(({ part, etag, modified }) => [part, { modified: new Date(modified), etag }]),
      ),
    };
  }

  async writeMessage(
    dataset: DatasetId,
    kind: InstallKind,
    message: { readonly status: InstallStatus; readonly message?: string; readonly version?: ObjectVersion },
    token: number,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#db.transaction(async (sql) => {
      await this.#take(sql, dataset, token);
      await sql.query(
        `insert into ${this.#schema}.dataset_install_message (dataset_id, target_id, install_type, status, message)
         values ($1, $2, $3, $4, $5) on conflict (dataset_id, target_id, install_type)
         do update set status = excluded.status, message = excluded.message, updated = excluded.updated`,
        [dataset, this.id, kind, message.status, message.message === undefined ? null : storableText(message.message)],
      );
      if (message.version) await this.#writeSync(sql, dataset, kind, message.version);
    }, signal);
  }

  async writeVisibility(
    dataset: DatasetId,
    recipients: readonly UserId[],
    version: ObjectVersion,
    token: number,
    signal: AbortSignal,
  ): Promise<void> {
    const s = this.#schema;
    await this.#db.transaction(async (sql) => {
      await this.#take(sql, dataset, token);
      await sql.query(
        `with visible as (
           select unnest($2::numeric[]) as user_id union select owner from ${s}.dataset where dataset_id = $1),
         hidden as (
           delete from ${s}.dataset_visibility v
           where v.dataset_id = $1 and v.user_id not in (select user_id from visible))
         insert into ${s}.dataset_visibility (user_id, dataset_id) select user_id, $1 from visible on conflict do nothing`,
        [dataset, recipients],
      );
      await this.#writeSync(sql, dataset, 'shares', version);
    }, signal);
  }

  async setDeleted(dataset: DatasetId, deletedStatus: 0 | 1 | 2, token: number, signal: AbortSignal): Promise<void> {
    await this.#db.transaction(async (sql) => {
      await this.#take(sql, dataset, token);
      await sql.query(
        `update ${this.#schema}.dataset_install set deleted_status = $3 where dataset_id = $1 and target_id = $2`,
        [dataset, this.id, deletedStatus],
      );
      await this.#summarise(sql, dataset);
    }, signal);
  }

  async purge(dataset: DatasetId, token: number, signal: AbortSignal): Promise<void> {
    const s = this.#schema;
    await this.#db.transaction(async (sql) => {
      if (!(await this.#lock(sql, dataset, token))) return;
      await sql.query(`delete from ${s}.dataset_install where dataset_id = $1 and target_id = $2`, [dataset, this.id]);
      await sql.query(
        `delete from ${s}.dataset d where d.dataset_id = $1
         and not exists (select from ${s}.dataset_install i where i.dataset_id = d.dataset_id)`,
        [dataset],
      );
      await this.#summarise(sql, dataset);
    }, signal);
  }

  /** What the dataset's own row says follows from its targets, the liveliest and most visible first. */
  async #summarise(sql: Sql, dataset: DatasetId): Promise<void> {
    await sql.query(
      `update ${this.#schema}.dataset d set deleted_status = i.deleted_status, accessibility = i.accessibility
       from (select case when 0 = any (array_agg(deleted_status)) then 0
               when 2 = any (array_agg(deleted_status)) then 2 else 1 end as deleted_status,
               coalesce(max(accessibility) filter (where accessibility <> 'private'), 'private') as accessibility
             from ${this.#schema}.dataset_install where dataset_id = $1 having count(*) > 0) i
       where d.dataset_id = $1 and (d.deleted_status, d.accessibility) <> (i.deleted_status, i.accessibility)`,
      [dataset],
    );
  }

  async #writeSync(sql: Sql, dataset: DatasetId, part: SyncPart, version: ObjectVersion): Promise<void> {
    await sql.query(
      `insert into ${this.#schema}.sync_control (dataset_id, target_id, part, modified, etag) values ($1, $2, $3, $4, $5)
       on conflict (dataset_id, target_id, part) do update set modified = excluded.modified, etag = excluded.etag`,
      [dataset, this.id, part, version.modified, version.etag],
    );
  }

  /** Locks the dataset's row under our token; the dataset must have been written to this target. */
  async #take(sql: Sql, dataset: DatasetId, token: number): Promise<void> {
    const installed = await this.#lock(sql, dataset, token);
    if (!installed) throw defect(`dataset ${dataset} has no row in the control schema of install target ${this.id}`);
  }

  /** False when the dataset has no row for this target. */
  async #lock(sql: Sql, dataset: DatasetId, token: number): Promise<boolean> {
    const s = this.#schema;
    const [row] = await sql.query<{ last: number; installed: boolean }>(
      `select lease_token as last,
         exists (select from ${s}.dataset_install i where i.dataset_id = d.dataset_id and i.target_id = $2) as installed
       from ${s}.dataset d where d.dataset_id = $1 for update`,
      [dataset, this.id],
    );
    if (row && row.last > token) throw this.#leaseLost(dataset);
    if (row && row.last < token)
      await sql.query(`update ${s}.dataset set lease_token = $2 where dataset_id = $1`, [dataset, token]);
    return row?.installed ?? false;
  }

  #leaseLost(dataset: DatasetId): Error {
    return aborted(`dataset ${dataset}: lease lost (a newer holder wrote to install target ${this.id})`);
  }
}

function installMessage(row: { status: InstallStatus; message: string | null; updated: number }): InstallMessage {
  return { status: row.status, message: row.message ?? undefined, updated: new Date(row.updated) };
}
