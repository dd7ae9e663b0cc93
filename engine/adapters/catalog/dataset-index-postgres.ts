// Which datasets the cache DB knows, page by page. Each page is one short statement on an index: nothing is held between
// two of them, however long the caller takes.

import type { DatasetId, TargetId, UserId } from '../../model/ids.ts';
import { type DatasetAddress, datasetPrefix } from '../../model/object-key.ts';
import type { DatasetIndex, DatasetPage, RetiredDataset, RetiredState } from '../../ports/dataset-index.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { DatasetLines } from './dataset-line.ts';

/** Word for word the expression of the indexes dataset_store_order_line and dataset_store_order_long. */
const STORE_ORDER = `(d.owner_id::text || '/' || d.dataset_id || '/') collate "C"`;

/**
 * Of one of the two indexes. Selected, the bounds are unknown to the planner: one plan wherever a page begins, and none that
 * sorts what is left.
 */
const part = (lines: string): string => `
  (select ${STORE_ORDER} as place, d.line from dataset d
    where d.state <> 'receiving' and octet_length(d.line) ${lines} and ${STORE_ORDER} > (select $1::text)
    order by place limit (select $2::bigint))`;

const PAGE = `
  select string_agg(line, E'\\n') as lines, count(*)::integer as length from (
    ${part('<= 800')} union all ${part('> 800')} order by place limit (select $2::bigint)) page`;

const TARGETS_COLUMN = `array(select t.target_id from dataset_target t where t.dataset_id = d.dataset_id) as targets`;

/** The second condition repeats that of the index dataset_not_live, which a plan for any state could not tell. */
const RETIRED = `
  select d.dataset_id, d.owner_id::text as owner_id, d.state, ${TARGETS_COLUMN}
  from dataset d where d.state = $1 and d.state <> 'live' and d.dataset_id > $2
  order by d.dataset_id limit $3`;

const BEGIN_PRUNING = `
  update dataset set state = 'pruning', row_version = row_version + 1
  where dataset_id = $1 and state = 'deleted' returning dataset_id`;

interface PageRow {
  readonly lines: string | null;
  readonly length: number;
}

interface RetiredRow {
  readonly dataset_id: DatasetId;
  readonly owner_id: UserId;
  readonly state: RetiredState;
  readonly targets: TargetId[];
}

export class PostgresDatasetIndex implements DatasetIndex {
  readonly #db: Pick<Postgres, 'query'>;

  constructor(db: Pick<Postgres, 'query'>) {
    this.#db = db;
  }

  async page(after: DatasetAddress | undefined, limit: number, signal: AbortSignal): Promise<DatasetPage> {
    signal.throwIfAborted();
    // Every address is greater than the empty text.
    const from = after ? datasetPrefix(after) : '';
    const [page] = await this.#db.query<PageRow>(PAGE, [from, limit], 'dataset-index-page');
    return new DatasetLines(page?.lines ?? null, page?.length ?? 0);
  }

  async retired(
    state: RetiredState,
    after: DatasetId | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly RetiredDataset[]> {
    signal.throwIfAborted();
    const rows = await this.#db.query<RetiredRow>(RETIRED, [state, after ?? '', limit], 'dataset-index-retired');
    return rows.map((row) => ({
      owner: row.owner_id,
      dataset: row.dataset_id,
      state: row.state,
      installTargets: row.targets.sort(),
    }));
  }

  async beginPruning(dataset: DatasetId, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const rows = await this.#db.query(BEGIN_PRUNING, [dataset], 'dataset-index-begin-pruning');
    return rows.length > 0;
  }
}
