// One install target whose control schema is on MariaDB: like install-target-postgres.ts. Each write is a transaction that locks
// the dataset's row first. Statements read what was committed before them, so all that follow see what the lock guards.

import type { DatasetId, TargetId, UserId } from '../../model/ids.ts';
import { originalOf } from '../../model/metadata.ts';
import type { InstallKind } from '../../model/status.ts';
import type { ObjectVersion, SyncPart } from '../../ports/catalog.ts';
import {
  ABSENT,
  type ControlDocument,
  type ControlMessage,
  type ControlState,
  type ControlWrite,
  type InstallTarget,
} from '../../ports/install-target.ts';
import { aborted, defect } from '../../runtime/failure.ts';
import { storedVisibility } from '../catalog/dataset-document.ts';
import { type JsonColumns, jsonRows, jsonTable } from '../mariadb/json-rows.ts';
import { type MariaDb, quoteName } from '../mariadb/mariadb.ts';
import type { Sql } from '../postgres/postgres.ts';
import { storableText } from '../postgres/sql-parameters.ts';
import { type ControlRows, controlRows } from './control-rows.ts';
import { type MariaDbStateRow, mariaDbState, STATE, stateJoins } from './control-state-mariadb.ts';
import type { InstallTargetOptions } from './install-target-postgres.ts';

interface Fenced {
  readonly dataset: DatasetId;
  readonly token: number;
  /** Whether the target must have a row of the dataset. */
  readonly needs: 'present' | 'present or gone' | 'absent' | 'any';
  /** Makes the row if there is none, so that it can be locked. */
  readonly document?: ControlDocument | undefined;
}

const TYPES = { 'text[]': 'text', 'integer[]': 'int', 'boolean[]': 'boolean' } as const;

export class MariaDbInstallTarget implements InstallTarget {
  readonly id: TargetId;
  readonly dataSchema: string;
  readonly #db: Pick<MariaDb, 'query' | 'transaction'>;
  readonly #schema: string;
  readonly #displayName: string;

  constructor(db: Pick<MariaDb, 'query' | 'transaction'>, options: InstallTargetOptions) {
    this.id = options.id;
    this.dataSchema = options.dataSchema;
    this.#db = db;
    this.#schema = quoteName(options.schema);
    this.#displayName = options.displayName;
  }

  async state(dataset: DatasetId, signal: AbortSignal): Promise<ControlState> {
    signal.throwIfAborted();
    const s = this.#schema;
    const [row] = await this.#db.query<MariaDbStateRow>(
      `select ${STATE} from ${s}.dataset_install i join ${s}.dataset d on d.dataset_id = i.dataset_id ${stateJoins(s)}
       where i.dataset_id = ? and i.target_id = ?`,
      [dataset, this.id],
    );
    return row ? mariaDbState(row) : ABSENT;
  }

  begin(
    dataset: DatasetId,
    { document, messages = {} }: ControlWrite & Required<Pick<ControlWrite, 'document'>>,
    token: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const work = async (sql: Sql): Promise<void> => {
      await this.#writeDocument(sql, dataset, document, token);
      await this.#writeMessages(sql, dataset, messages);
    };
    return this.#fenced({ dataset, token, needs: 'absent', document }, work, signal);
  }

  async write(dataset: DatasetId, change: ControlWrite, token: number, signal: AbortSignal): Promise<void> {
    const { document, messages = {} } = change;
    const work = async (sql: Sql): Promise<void> => {
      if (document) await this.#writeDocument(sql, dataset, document, token);
      await this.#writeMessages(sql, dataset, messages);
    };
    await this.#fenced({ dataset, token, needs: document ? 'any' : 'present', document }, work, signal);
  }

  async removeMessage(dataset: DatasetId, kind: InstallKind, token: number, signal: AbortSignal): Promise<void> {
    const text = `delete from ${this.#schema}.dataset_install_message
      where dataset_id = ? and target_id = ? and install_type = ?`;
    const work = (sql: Sql): Promise<unknown> => sql.query(text, [dataset, this.id, kind]);
    await this.#fenced({ dataset, token, needs: 'present' }, work, signal);
  }

  async writeVisibility(
    dataset: DatasetId,
    recipients: readonly UserId[],
    version: ObjectVersion,
    token: number,
    signal: AbortSignal,
  ): Promise<void> {
    const s = this.#schema;
    const visible = `select user_id from ${jsonTable({ user_id: 'decimal(19)' })}
      union select owner from ${s}.dataset where dataset_id = ?`;
    const values = [jsonRows(recipients.map((user) => [user])), dataset];
    const work = async (sql: Sql): Promise<void> => {
      await sql.query(`delete from ${s}.dataset_visibility where user_id not in (${visible}) and dataset_id = ?`, [
        ...values,
        dataset,
      ]);
      await sql.query(
        `insert into ${s}.dataset_visibility (user_id, dataset_id) select v.user_id, ? from (${visible}) v
         on duplicate key update dataset_id = values(dataset_id)`,
        [dataset, ...values],
      );
      await this.#sync(sql, dataset, [['shares', version]]);
    };
    await this.#fenced({ dataset, token, needs: 'present' }, work, signal);
  }

  async setDeleted(dataset: DatasetId, deletedStatus: 0 | 1 | 2, token: number, signal: AbortSignal): Promise<void> {
    const text = `update ${this.#schema}.dataset_install set deleted_status = ? where dataset_id = ? and target_id = ?`;
    const work = async (sql: Sql): Promise<void> => {
      await sql.query(text, [deletedStatus, dataset, this.id]);
      await this.#follow(sql, dataset, { lease_token: token });
    };
    await this.#fenced({ dataset, token, needs: 'present' }, work, signal);
  }

  async purge(dataset: DatasetId, token: number, signal: AbortSignal): Promise<void> {
    const s = this.#schema;
    const work = async (sql: Sql): Promise<void> => {
      await sql.query(`delete from ${s}.dataset_install where dataset_id = ? and target_id = ?`, [dataset, this.id]);
      await sql.query(
        `delete from ${s}.dataset where dataset_id = ?
           and not exists (select 1 from ${s}.dataset_install i where i.dataset_id = ?)`,
        [dataset, dataset],
      );
      await this.#follow(sql, dataset, { lease_token: token });
    };
    await this.#fenced({ dataset, token, needs: 'present or gone' }, work, signal);
  }

  async #writeDocument(sql: Sql, dataset: DatasetId, document: ControlDocument, token: number): Promise<void> {
    const s = this.#schema;
    const accessibility = document.showVisibility ? storedVisibility(document.metadata.visibility) : 'private';
    await sql.query(
      `insert into ${s}.dataset_install (dataset_id, target_id, accessibility) values (?, ?, ?)
       on duplicate key update accessibility = values(accessibility)`,
      [dataset, this.id, accessibility],
    );
    const { dataset_id: _key, ...columns } = columnsOf(dataset, document, token);
    await this.#follow(sql, dataset, columns);
    await sql.query(
      `insert into ${s}.dataset_project (dataset_id, project_id, project_display_name) values (?, ?, ?)
       on duplicate key update project_display_name = values(project_display_name)`,
      [dataset, this.id, this.#displayName],
    );
    await sql.query(
      `insert into ${s}.dataset_visibility (user_id, dataset_id) values (?, ?)
       on duplicate key update dataset_id = values(dataset_id)`,
      [document.owner, dataset],
    );
    if (document.written) return;
    // The rows of the other tables go with it.
    await sql.query(`delete from ${s}.dataset_meta where dataset_id = ?`, [dataset]);
    for (const rows of controlRows(document.metadata)) if (rows.rows.length > 0) await this.#insert(sql, dataset, rows);
  }

  async #insert(sql: Sql, dataset: DatasetId, { table, columns, rows }: ControlRows): Promise<void> {
    const types = Object.entries(columns).map(([name, type]) => [name, TYPES[type as keyof typeof TYPES]] as const);
    await sql.query(
      `insert into ${this.#schema}.${table} (dataset_id, ${types.map(([name]) => name)})
       select ?, x.* from ${jsonTable(Object.fromEntries(types))}`,
      [dataset, jsonRows(rows)],
    );
  }

  async #writeMessages(
    sql: Sql,
    dataset: DatasetId,
    messages: Readonly<Partial<Record<InstallKind, ControlMessage>>>,
  ): Promise<void> {
    const all = Object.entries(messages) as [InstallKind, ControlMessage][];
    if (all.length === 0) return;
    const columns: JsonColumns = { install_type: 'text', status: 'text', message: 'text' };
    await sql.query(
      `insert into ${this.#schema}.dataset_install_message (dataset_id, target_id, install_type, status, message, updated)
       select ?, ?, x.*, utc_timestamp(6) from ${jsonTable(columns)}
       on duplicate key update status = values(status), message = values(message), updated = values(updated)`,
      [dataset, this.id, jsonRows(all.map(([kind, { status, message }]) => [kind, status, message ?? null]))],
    );
    await this.#sync(
      sql,
      dataset,
      all.flatMap(([kind, { version }]) => (version ? [[kind, version] as const] : [])),
    );
  }

  async #sync(sql: Sql, dataset: DatasetId, versions: readonly (readonly [SyncPart, ObjectVersion])[]): Promise<void> {
    if (versions.length === 0) return;
    const columns: JsonColumns = { part: 'text', modified: 'datetime(6)', etag: 'text' };
    await sql.query(
      `insert into ${this.#schema}.sync_control (dataset_id, target_id, part, modified, etag)
       select ?, ?, x.* from ${jsonTable(columns)}
       on duplicate key update modified = values(modified), etag = values(etag)`,
      [dataset, this.id, jsonRows(versions.map(([part, { modified, etag }]) => [part, modified, etag]))],
    );
  }

  /** Writes these columns of the dataset's row, and what the row has of its targets. Nothing if there is none. */
  async #follow(sql: Sql, dataset: DatasetId, columns: Readonly<Record<string, unknown>>): Promise<void> {
    const s = this.#schema;
    const value = (name: string): string => (name === 'creation_date' ? `coalesce(?, d.${name})` : '?');
    // The most active status (0, 2, 1) and the most visible accessibility, which is the last by name, win.
    await sql.query(
      `update ${s}.dataset d join (
         select i.dataset_id, if(min(i.deleted_status) = 0, 0, max(i.deleted_status)) as deleted_status,
           max(i.accessibility) as accessibility
         from ${s}.dataset_install i where i.dataset_id = ? group by i.dataset_id) x on x.dataset_id = d.dataset_id
       set d.deleted_status = x.deleted_status, d.accessibility = x.accessibility,
         ${Object.keys(columns).map((name) => `d.${name} = ${value(name)}`)}`,
      [dataset, ...Object.values(columns)],
    );
  }

  /** All or nothing. Returns false, with nothing written, when the target has a row or none, contrary to `needs`. */
  async #fenced(of: Fenced, work: (sql: Sql) => Promise<unknown>, signal: AbortSignal): Promise<boolean> {
    return await this.#db.transaction(async (sql) => {
      if (!(await this.#lock(sql, of))) return false;
      await work(sql);
      return true;
    }, signal);
  }

  /** Locks the dataset's row under our token. A holder with a higher token must not have written before. */
  async #lock(sql: Sql, { dataset, token, needs, document }: Fenced): Promise<boolean> {
    const s = this.#schema;
    if (document) await this.#ensureRow(sql, columnsOf(dataset, document, token));
    const [row] = await sql.query<{ lease_token: number }>(
      `select lease_token from ${s}.dataset where dataset_id = ? for update`,
      [dataset],
    );
    if (row && row.lease_token > token)
      throw aborted(`dataset ${dataset}: lease lost (a newer holder wrote to install target ${this.id})`);
    const installs = await sql.query(`select 1 from ${s}.dataset_install where dataset_id = ? and target_id = ?`, [
      dataset,
      this.id,
    ]);
    const present = installs.length > 0;
    if ((needs === 'absent' && present) || (needs === 'present or gone' && !present)) return false;
    if (needs === 'present' && !present)
      throw defect(`dataset ${dataset} has no row in the control schema of install target ${this.id}`);
    if (row && row.lease_token < token)
      await sql.query(`update ${s}.dataset set lease_token = ? where dataset_id = ?`, [token, dataset]);
    return true;
  }

  async #ensureRow(sql: Sql, columns: ReturnType<typeof columnsOf>): Promise<void> {
    const { creation_date: created, ...others } = columns;
    await sql.query(
      `insert into ${this.#schema}.dataset (${Object.keys(others)}, creation_date, deleted_status, accessibility)
       values (${Object.keys(others).map(() => '?')}, coalesce(?, utc_timestamp(6)), 0, 'private')
       on duplicate key update lease_token = lease_token`,
      [...Object.values(others), created],
    );
  }
}

/** The columns of a dataset's row that come from the document. A time that is none is null: it stays, or is that of the row. */
function columnsOf(dataset: DatasetId, { owner, metadata, category }: ControlDocument, token: number) {
  const created = new Date(metadata.created);
  return {
    dataset_id: dataset,
    original_id: originalOf(dataset, metadata),
    owner,
    type_name: storableText(metadata.type.name),
    type_version: storableText(metadata.type.version),
    category,
    days_for_approval: metadata.daysForApproval,
    creation_date: Number.isNaN(created.getTime()) ? null : created,
    lease_token: token,
  };
}
