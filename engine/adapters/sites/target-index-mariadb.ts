// Which datasets one install target knows, from its part of a control schema on MariaDB: like target-index-postgres.ts.

import type { DatasetId, TargetId, UserId } from '../../model/ids.ts';
import { type DatasetAddress, datasetPrefix } from '../../model/object-key.ts';
import type { InstalledDataset, TargetIndex } from '../../ports/catalog.ts';
import type { ControlState } from '../../ports/install-target.ts';
import { type MariaDb, quoteName } from '../mariadb/mariadb.ts';
import { type ControlStateRow, controlState } from './target-index-postgres.ts';

interface TargetIndexOptions {
  readonly id: TargetId;
  /** The control schema. Named in the statement, because targets with different schemas may share a pool. */
  readonly schema: string;
}

export class MariaDbTargetIndex implements TargetIndex {
  readonly #id: TargetId;
  readonly #db: Pick<MariaDb, 'query'>;
  readonly #page: string;

  constructor(db: Pick<MariaDb, 'query'>, { id, schema }: TargetIndexOptions) {
    this.#id = id;
    this.#db = db;
    this.#page = pageStatement(quoteName(schema));
  }

  async page(
    after: DatasetAddress | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly InstalledDataset[]> {
    signal.throwIfAborted();
    // Every address is greater than the empty string.
    const values = [this.#id, after ? datasetPrefix(after) : '', limit];
    const rows = await this.#db.query<MariaDbStateRow & { dataset_id: DatasetId; owner: UserId }>(this.#page, values);
    return rows.map((row) => ({ owner: row.owner, dataset: row.dataset_id, control: mariaDbState(row) }));
  }
}

/** The order of the tables and the index are given: the planner would sort all datasets of the target for each page. */
const pageStatement = (schema: string): string => `
  select straight_join d.dataset_id, d.owner, ${STATE}
  from ${schema}.dataset d force index (dataset_store_order)
  join ${schema}.dataset_install i on i.dataset_id = d.dataset_id and i.target_id = ?
  ${stateJoins(schema)}
  where d.store_order > ? order by d.store_order limit ?`;

// What one install target knows of a dataset: the columns to select, the tables that they are from, and how to map them.

const KINDS = ['meta', 'data'] as const;
const PARTS = ['meta', 'data', 'shares'] as const;

/** Columns of the schema's `dataset d`, `dataset_install i`, and of {@link stateJoins}. */
export const STATE = [
  'd.type_name, d.type_version, i.deleted_status',
  ...KINDS.map(
    (kind) => `m_${kind}.status as ${kind}_status, m_${kind}.message as ${kind}_message,
    m_${kind}.updated as ${kind}_updated`,
  ),
  ...PARTS.map((part) => `c_${part}.etag as ${part}_etag, c_${part}.modified as ${part}_modified`),
].join(', ');

/** `schema` is a quoted identifier. */
export const stateJoins = (schema: string): string =>
  [
    ...KINDS.map(
      (kind) => `left join ${schema}.dataset_install_message m_${kind} on m_${kind}.dataset_id = i.dataset_id
      and m_${kind}.target_id = i.target_id and m_${kind}.install_type = '${kind}'`,
    ),
    ...PARTS.map(
      (part) => `left join ${schema}.sync_control c_${part} on c_${part}.dataset_id = i.dataset_id
      and c_${part}.target_id = i.target_id and c_${part}.part = '${part}'`,
    ),
  ].join('\n');

type Kind = (typeof KINDS)[number];
type Part = (typeof PARTS)[number];
type Message = NonNullable<ControlStateRow['messages']>[number];

/** All columns of a message, or of a version, are null if there is none. */
export type MariaDbStateRow = Pick<ControlStateRow, 'type_name' | 'type_version' | 'deleted_status'> & {
  readonly [K in Kind as `${K}_status`]: Message[1] | null;
} & { readonly [K in Kind as `${K}_message`]: string | null } & {
  readonly [K in Kind as `${K}_updated`]: Date | null;
} & {
  readonly [P in Part as `${P}_etag`]: string | null;
} & { readonly [P in Part as `${P}_modified`]: Date | null };

export function mariaDbState(row: MariaDbStateRow): ControlState {
  return controlState({
    ...row,
    messages: KINDS.flatMap((kind): Message[] => {
      const [status, updated] = [row[`${kind}_status`], row[`${kind}_updated`]];
      return status && updated ? [[kind, status, row[`${kind}_message`], updated.getTime()]] : [];
    }),
    syncs: PARTS.flatMap((part): NonNullable<ControlStateRow['syncs']> => {
      const [etag, modified] = [row[`${part}_etag`], row[`${part}_modified`]];
      return etag !== null && modified ? [[part, etag, modified.getTime()]] : [];
    }),
  });
}
