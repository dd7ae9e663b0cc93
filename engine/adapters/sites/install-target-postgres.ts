// One install target: its part of a control schema, which it may share with other targets. Every write first locks the
// dataset's row and rejects a lease token that is lower than the last one. Each operation but `purge` is a single statement. It
// is repeated in the rare case that it is out of date when it gets the lock (control-fence.ts).

import type { DatasetId, TargetId, UserId } from '../../model/ids.ts';
import type { InstallKind } from '../../model/status.ts';
import type { ObjectVersion, SyncPart } from '../../ports/catalog.ts';
import {
  ABSENT,
  type ControlMessage,
  type ControlState,
  type ControlWrite,
  type InstallTarget,
} from '../../ports/install-target.ts';
import { aborted, defect, transient } from '../../runtime/failure.ts';
import { type Postgres, quoteIdentifier, type Sql } from '../postgres/postgres.ts';
import { SqlParameters, statementName, storableText } from '../postgres/sql-parameters.ts';
import { documentCtes, newDocumentCtes } from './control-document.ts';
import { type ControlTarget, deletedCtes, fence, purgeCtes } from './control-fence.ts';
import { type ControlStateRow, controlState, controlStateColumns } from './control-state-postgres.ts';

export interface InstallTargetOptions {
  readonly id: TargetId;
  readonly displayName: string;
  /** The control schema. Named in every statement, because targets with different schemas may share a pool. */
  readonly schema: string;
  /** See {@link InstallTarget.dataSchema}. */
  readonly dataSchema: string;
}

/** More than a schema has targets. Each repetition means that another write to the same dataset succeeded. */
const REPETITIONS = 50;

export class PostgresInstallTarget implements InstallTarget {
  readonly id: TargetId;
  readonly dataSchema: string;
  readonly #db: Pick<Postgres, 'query' | 'grouped' | 'transaction'>;
  readonly #schema: string;
  readonly #target: ControlTarget;

  constructor(db: Pick<Postgres, 'query' | 'grouped' | 'transaction'>, options: InstallTargetOptions) {
    this.id = options.id;
    this.dataSchema = options.dataSchema;
    this.#db = db;
    this.#schema = quoteIdentifier(options.schema);
    this.#target = { id: options.id, displayName: options.displayName, schema: this.#schema };
  }

  async state(dataset: DatasetId, signal: AbortSignal): Promise<ControlState> {
    signal.throwIfAborted();
    const s = this.#schema;
    const text = `select ${controlStateColumns(s)}
       from ${s}.dataset_install i join ${s}.dataset d on d.dataset_id = i.dataset_id
       where i.dataset_id = $1 and i.target_id = $2`;
    const [row] = await this.#db.grouped.query<ControlStateRow>(text, [dataset, this.id], statementName(text));
    return row ? controlState(row) : ABSENT;
  }

  async begin(
    dataset: DatasetId,
    { document, messages = {} }: ControlWrite & Required<Pick<ControlWrite, 'document'>>,
    token: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    signal.throwIfAborted();
    const parameters = new SqlParameters();
    const brief = [
      ...newDocumentCtes(this.#target, dataset, document, token, parameters),
      ...this.#messageCtes(messages, parameters),
    ];
    if (await taken(this.#db.grouped, brief, parameters)) return true;
    // A target that shares the schema has the dataset, or this one has.
    const ctes = (more: SqlParameters) => [
      ...documentCtes(this.#target, dataset, document, token, more, true),
      ...this.#messageCtes(messages, more),
    ];
    return this.#fenced(dataset, ctes, token, signal, 'absent');
  }

  async write(dataset: DatasetId, change: ControlWrite, token: number, signal: AbortSignal): Promise<void> {
    const { document, messages = {} } = change;
    const ctes = (parameters: SqlParameters) => [
      ...(document
        ? documentCtes(this.#target, dataset, document, token, parameters)
        : fence(this.#target, dataset, token, parameters)),
      ...this.#messageCtes(messages, parameters),
    ];
    await this.#fenced(dataset, ctes, token, signal, document ? 'any' : 'present');
  }

  async removeMessage(dataset: DatasetId, kind: InstallKind, token: number, signal: AbortSignal): Promise<void> {
    const ctes = (parameters: SqlParameters) => [
      ...fence(this.#target, dataset, token, parameters),
      `removed as (
        delete from ${this.#schema}.dataset_install_message m using taken k
        where m.dataset_id = k.dataset_id and m.target_id = ${parameters.add(this.id, 'text')}
          and m.install_type = ${parameters.add(kind, 'text')})`,
    ];
    await this.#fenced(dataset, ctes, token, signal);
  }

  async writeVisibility(
    dataset: DatasetId,
    recipients: readonly UserId[],
    version: ObjectVersion,
    token: number,
    signal: AbortSignal,
  ): Promise<void> {
    const s = this.#schema;
    const ctes = (parameters: SqlParameters) => [
      ...fence(this.#target, dataset, token, parameters),
      `visible as (
        select unnest(${parameters.add(recipients, 'numeric[]')}) as user_id, dataset_id from taken
        union select owner, dataset_id from taken)`,
      `hidden as (
        delete from ${s}.dataset_visibility v using taken k
        where v.dataset_id = k.dataset_id and v.user_id not in (select user_id from visible))`,
      `shown as (
        insert into ${s}.dataset_visibility (user_id, dataset_id) select user_id, dataset_id from visible
        on conflict do nothing)`,
      this.#syncCte([['shares', version]], parameters),
    ];
    await this.#fenced(dataset, ctes, token, signal);
  }

  async setDeleted(dataset: DatasetId, deletedStatus: 0 | 1 | 2, token: number, signal: AbortSignal): Promise<void> {
    const ctes = (parameters: SqlParameters) => deletedCtes(this.#target, dataset, deletedStatus, token, parameters);
    await this.#fenced(dataset, ctes, token, signal);
  }

  async purge(dataset: DatasetId, token: number, signal: AbortSignal): Promise<void> {
    const ctes = (parameters: SqlParameters) => purgeCtes(this.#target, dataset, token, parameters);
    await this.#fenced(dataset, ctes, token, signal, 'present or gone');
  }

  /** The text does not depend on the kinds, so that few texts are planned. */
  #messageCtes(
    messages: Readonly<Partial<Record<InstallKind, ControlMessage>>>,
    parameters: SqlParameters,
  ): readonly string[] {
    const all = Object.entries(messages) as [InstallKind, ControlMessage][];
    const texts = (values: readonly (string | null)[]): string => parameters.add(values, 'text[]');
    return [
      `said as (
        insert into ${this.#schema}.dataset_install_message (dataset_id, target_id, install_type, status, message)
        select k.dataset_id, ${parameters.add(this.id, 'text')}, x.* from taken k cross join unnest(
          ${texts(all.map(([kind]) => kind))}, ${texts(all.map(([, { status }]) => status))},
          ${texts(all.map(([, { message }]) => (message === undefined ? null : storableText(message))))}) x
        on conflict (dataset_id, target_id, install_type)
        do update set status = excluded.status, message = excluded.message, updated = excluded.updated)`,
      this.#syncCte(
        all.flatMap(([kind, { version }]) => (version ? [[kind, version] as const] : [])),
        parameters,
      ),
    ];
  }

  #syncCte(versions: readonly (readonly [SyncPart, ObjectVersion])[], parameters: SqlParameters): string {
    const parts = versions.map(([part]) => part);
    const times = versions.map(([, { modified }]) => modified);
    const etags = versions.map(([, { etag }]) => etag);
    return `synced as (
      insert into ${this.#schema}.sync_control (dataset_id, target_id, part, modified, etag)
      select k.dataset_id, ${parameters.add(this.id, 'text')}, x.* from taken k cross join unnest(
        ${parameters.add(parts, 'text[]')}, ${parameters.add(times, 'timestamptz[]')}, ${parameters.add(etags, 'text[]')}) x
      on conflict (dataset_id, target_id, part) do update set modified = excluded.modified, etag = excluded.etag)`;
  }

  /**
   * One statement, which writes all or nothing. Returns false when nothing was written, because the target has a row although
   * `absent` is needed, or no row although there was one to remove.
   * @param needs whether the target must have a row of the dataset
   */
  async #fenced(
    dataset: DatasetId,
    ctes: (parameters: SqlParameters) => readonly string[],
    token: number,
    signal: AbortSignal,
    needs: 'present' | 'present or gone' | 'absent' | 'any' = 'present',
  ): Promise<boolean> {
    for (let repetition = 0; repetition <= REPETITIONS; repetition++) {
      signal.throwIfAborted();
      const parameters = new SqlParameters();
      if (await taken(this.#db.grouped, ctes(parameters), parameters)) return true;
      const { newer, present } = await this.#standing(this.#db, dataset, token);
      if (newer) throw this.#leaseLost(dataset);
      if ((needs === 'absent' && present) || (needs === 'present or gone' && !present)) return false;
      if (needs === 'present' && !present)
        throw defect(`dataset ${dataset} has no row in the control schema of install target ${this.id}`);
    }
    throw transient(`install target ${this.id}: other writes to dataset ${dataset} came between too often`);
  }

  /** After a statement that wrote nothing: a holder with a higher token has written; this target has a row. */
  async #standing(
    sql: Sql,
    dataset: DatasetId,
    token: number,
  ): Promise<{ readonly newer: boolean; readonly present: boolean }> {
    const s = this.#schema;
    const [row] = await sql.query<{ newer: boolean; present: boolean }>(
      `select d.lease_token > $2 as newer, exists (
         select from ${s}.dataset_install i where i.dataset_id = d.dataset_id and i.target_id = $3) as present
       from ${s}.dataset d where d.dataset_id = $1`,
      [dataset, token, this.id],
    );
    return row ?? { newer: false, present: false };
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
