// Which datasets one install target knows, page by page, from its part of a control schema. Each page is one short indexed
// query. Nothing is held between pages, however long the caller takes.

import type { DatasetId, TargetId, UserId } from '../../model/ids.ts';
import { type DatasetAddress, datasetPrefix } from '../../model/object-key.ts';
import type { InstalledDataset, TargetIndex } from '../../ports/dataset-index.ts';
import { type Postgres, quoteIdentifier } from '../postgres/postgres.ts';
import { statementName } from '../postgres/statement-name.ts';
import { type ControlStateRow, controlState, controlStateColumns } from './control-state.ts';

export interface TargetIndexOptions {
  readonly id: TargetId;
  /** The control schema. Named in the statement, because targets with different schemas may share a pool. */
  readonly schema: string;
}

interface PageRow extends ControlStateRow {
  readonly dataset_id: DatasetId;
  readonly owner: UserId;
}

export class PostgresTargetIndex implements TargetIndex {
  readonly #id: TargetId;
  readonly #db: Pick<Postgres, 'query'>;
  readonly #page: string;

  constructor(db: Pick<Postgres, 'query'>, options: TargetIndexOptions) {
    this.#id = options.id;
    this.#db = db;
    this.#page = pageStatement(quoteIdentifier(options.schema));
  }

  async page(
    after: DatasetAddress | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly InstalledDataset[]> {
    signal.throwIfAborted();
    // Every address is greater than the empty string.
    const values = [this.#id, after ? datasetPrefix(after) : '', limit];
    const rows = await this.#db.query<PageRow>(this.#page, values, statementName(this.#page));
    return rows.map((row) => ({ owner: row.owner, dataset: row.dataset_id, control: controlState(row) }));
  }
}

/**
 * `offset 0` keeps the planner from joining in another order than the index dataset_store_order. Bounds in subselects are
 * unknown to the planner, so it uses one plan wherever a page begins, without sorting.
 */
function pageStatement(schema: string): string {
  const order = `(d.owner::text || '/' || d.dataset_id || '/') collate "C"`;
  return `
    select d.dataset_id, d.owner::text as owner, ${controlStateColumns(schema)}
    from ${schema}.dataset d
    cross join lateral (
      select n.dataset_id, n.target_id, n.deleted_status from ${schema}.dataset_install n
      where n.dataset_id = d.dataset_id and n.target_id = $1 offset 0) i
    where ${order} > (select $2::text)
    order by ${order} limit (select $3::bigint)`;
}
