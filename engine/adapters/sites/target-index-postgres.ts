// Which datasets the install targets of one control schema know, page by page. Each page is one short indexed query for all of
// the targets. Nothing is held between pages, however long the caller takes.

import type { DatasetId, TargetId, UserId } from '../../model/ids.ts';
import { type DatasetAddress, datasetPrefix } from '../../model/object-key.ts';
import type { InstallKind, InstallStatus } from '../../model/status.ts';
import type { InstalledDataset, ObjectVersion, SyncPart, TargetIndex } from '../../ports/catalog.ts';
import type { InstalledMessage, InstalledState } from '../../ports/install-target.ts';
import { type Postgres, quoteIdentifier } from '../postgres/postgres.ts';
import { statementName } from '../postgres/sql-parameters.ts';

export interface TargetIndexOptions {
  readonly targets: readonly TargetId[];
  /** The control schema. Named in the statement, because targets with different schemas may share a pool. */
  readonly schema: string;
}

export class PostgresTargetIndex implements TargetIndex {
  readonly targets: readonly TargetId[];
  readonly #db: Pick<Postgres, 'query'>;
  readonly #page: string;

  constructor(db: Pick<Postgres, 'query'>, { targets, schema }: TargetIndexOptions) {
    this.targets = targets;
    this.#db = db;
    this.#page = pageStatement(quoteIdentifier(schema));
  }

  async page(
    after: DatasetAddress | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly InstalledDataset[]> {
    signal.throwIfAborted();
    // Every address is greater than the empty string.
    const values = [this.targets, after ? datasetPrefix(after) : '', limit];
    const rows = await this.#db.query<PageRow>(this.#page, values, statementName(this.#page));
    return rows.map((row) => ({ owner: row.owner, dataset: row.dataset_id, installs: installsOf(row) }));
  }
}

/**
 * Targets of which a table says the same are one entry. Mostly all are, so a dataset has few entries however many targets there
 * are. Ids of targets have no spaces. The lateral subqueries aggregate, so the planner cannot join in another order than that of
 * the index dataset_store_order. Bounds in subselects are unknown to the planner, so it uses one plan wherever a page begins,
 * without sorting the datasets.
 */
function pageStatement(schema: string): string {
  const order = `(d.owner::text || '/' || d.dataset_id || '/') collate "C"`;
  const ms = (time: string) => `(extract(epoch from ${time}) * 1000)::bigint`;
  const entries = (table: string, columns: string, entry: string) => `
      select json_agg(json_build_array(${entry}, g.targets)) as entries, count(*) as number
      from (
        select ${columns}, string_agg(n.target_id, ' ') as targets from ${schema}.${table} n
        where n.dataset_id = d.dataset_id and n.target_id = any($1::text[])
        group by ${columns.split(', ').map((_, i) => i + 1)}) g`;
  const updated = `case n.status when 'missing-dependency' then n.updated end`;
  return `
    select d.dataset_id, d.owner::text as owner, i.entries as installs, m.entries as messages, c.entries as versions
    from ${schema}.dataset d
    cross join lateral (${entries('dataset_install', 'n.deleted_status', 'g.deleted_status')}) i
    cross join lateral (${entries(
      'dataset_install_message',
      `n.install_type, n.status, ${updated} as updated`,
      `g.install_type, g.status, ${ms('g.updated')}`,
    )}) m
    cross join lateral (${entries('sync_control', 'n.part, n.etag, n.modified', `g.part, g.etag, ${ms('g.modified')}`)}) c
    where i.number > 0 and ${order} > (select $2::text)
    order by ${order} limit (select $3::bigint)`;
}

/** Each entry ends with the ids of its targets. */
interface PageRow {
  readonly dataset_id: DatasetId;
  readonly owner: UserId;
  readonly installs: readonly [deletedStatus: 0 | 1 | 2, targets: string][];
  readonly messages:
    | readonly [kind: InstallKind, status: InstallStatus, updatedMs: number | null, targets: string][]
    | null;
  readonly versions: readonly [part: SyncPart, etag: string, modifiedMs: number, targets: string][] | null;
}

interface Gathering extends InstalledState {
  readonly messages: Partial<Record<InstallKind, InstalledMessage>>;
  readonly sync: Partial<Record<SyncPart, ObjectVersion>>;
}

function installsOf({ installs, messages, versions }: PageRow): ReadonlyMap<TargetId, InstalledState> {
  const states = new Map<TargetId, Gathering>();
  const others = [...(messages ?? []), ...(versions ?? [])];
  // Only targets of dataset_install are in the other tables, so a list that is as long as its only one has the same targets.
  const length = installs.length === 1 ? installs[0]?.[1].length : undefined;
  const areAlike = others.every((entry) => entry[3].length === length);
  for (const [deletedStatus, targets] of installs) {
    const fresh = (): Gathering => ({ present: true, deletedStatus, messages: {}, sync: {} });
    const shared = fresh();
    for (const id of idsOf(targets)) states.set(id, areAlike ? shared : fresh());
  }
  const told = (targets: string): Iterable<Gathering | undefined> =>
    areAlike ? states.values().take(1) : idsOf(targets).map((id) => states.get(id));
  for (const [kind, status, updatedMs, targets] of messages ?? []) {
    const message = installedMessage(status, updatedMs ?? 0);
    for (const state of told(targets)) if (state) state.messages[kind] = message;
  }
  for (const [part, etag, modifiedMs, targets] of versions ?? []) {
    const version = { etag, modified: new Date(modifiedMs) };
    for (const state of told(targets)) if (state) state.sync[part] = version;
  }
  return states;
}

const idsOf = (targets: string): readonly TargetId[] => targets.split(' ') as TargetId[];

/** @param updatedMs of a missing dependency */
export const installedMessage = (status: InstallStatus, updatedMs: number): InstalledMessage =>
  status === 'missing-dependency' ? { status, updated: new Date(updatedMs) } : { status };
