// Which datasets the install targets of one control schema on MariaDB know: like target-index-postgres.ts, but a row for each
// target.

import type { DatasetId, TargetId, UserId } from '../../model/ids.ts';
import { type DatasetAddress, datasetPrefix } from '../../model/object-key.ts';
import { INSTALL_KINDS, type InstallStatus } from '../../model/status.ts';
import { type InstalledDataset, SYNC_PARTS, type TargetIndex } from '../../ports/catalog.ts';
import type { InstalledState } from '../../ports/install-target.ts';
import { type MariaDb, quoteName } from '../mariadb/mariadb.ts';
import { stateJoins } from './control-state-mariadb.ts';
import { installedMessage, type TargetIndexOptions } from './target-index-postgres.ts';

type PageRow = {
  readonly dataset_id: DatasetId;
  readonly owner: UserId;
  readonly target_id: TargetId;
  readonly deleted_status: 0 | 1 | 2;
} & { readonly [K in (typeof INSTALL_KINDS)[number] as `${K}_status`]: InstallStatus | null } & {
  readonly [K in (typeof INSTALL_KINDS)[number] as `${K}_updated`]: Date | null;
} & { readonly [P in (typeof SYNC_PARTS)[number] as `${P}_etag`]: string | null } & {
  readonly [P in (typeof SYNC_PARTS)[number] as `${P}_modified`]: Date | null;
};

export class MariaDbTargetIndex implements TargetIndex {
  readonly targets: readonly TargetId[];
  readonly #db: Pick<MariaDb, 'query'>;
  readonly #page: string;

  constructor(db: Pick<MariaDb, 'query'>, { targets, schema }: TargetIndexOptions) {
    this.targets = targets;
    this.#db = db;
    this.#page = pageStatement(quoteName(schema), targets.length);
  }

  async page(
    after: DatasetAddress | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly InstalledDataset[]> {
    signal.throwIfAborted();
    // Every address is greater than the empty string.
    const values = [after ? datasetPrefix(after) : '', ...this.targets, limit, ...this.targets];
    const rows = await this.#db.query<PageRow>(this.#page, values);
    return Array.from(Map.groupBy(rows, ({ dataset_id }) => dataset_id).values(), datasetOf);
  }
}

/** The order of the tables and the index are given: the planner would sort all datasets of the targets for each page. */
function pageStatement(schema: string, targets: number): string {
  const oneOfOurs = (id: string) => `${id} in (${Array.from({ length: targets }, () => '?')})`;
  return `
    select straight_join d.dataset_id, d.owner, i.target_id, i.deleted_status, ${COLUMNS}
    from (
      select p.dataset_id, p.owner, p.store_order from ${schema}.dataset p force index (dataset_store_order)
      where p.store_order > ? and (
        select count(*) from ${schema}.dataset_install n where n.dataset_id = p.dataset_id and ${oneOfOurs('n.target_id')}) > 0
      order by p.store_order limit ?) d
    join ${schema}.dataset_install i on i.dataset_id = d.dataset_id and ${oneOfOurs('i.target_id')}
    ${stateJoins(schema)}
    order by d.store_order`;
}

/** Of {@link stateJoins}. */
const COLUMNS = [
  ...INSTALL_KINDS.map(
    (kind) => `m_${kind}.status as ${kind}_status,
    case m_${kind}.status when 'missing-dependency' then m_${kind}.updated end as ${kind}_updated`,
  ),
  ...SYNC_PARTS.map((part) => `c_${part}.etag as ${part}_etag, c_${part}.modified as ${part}_modified`),
].join(', ');

/** @param rows of one dataset, at least one */
function datasetOf(rows: readonly PageRow[]): InstalledDataset {
  const [{ owner, dataset_id: dataset }] = rows as [PageRow];
  return { owner, dataset, installs: new Map(rows.map((row) => [row.target_id, stateOf(row)])) };
}

function stateOf(row: PageRow): InstalledState {
  const messages = INSTALL_KINDS.flatMap((kind) => {
    const status = row[`${kind}_status`];
    return status ? [[kind, installedMessage(status, row[`${kind}_updated`]?.getTime() ?? 0)] as const] : [];
  });
  const versions = SYNC_PARTS.flatMap((part) => {
    const [etag, modified] = [row[`${part}_etag`], row[`${part}_modified`]];
    return etag !== null && modified ? [[part, { etag, modified }] as const] : [];
  });
  return {
    present: true,
    deletedStatus: row.deleted_status,
    messages: Object.fromEntries(messages),
    sync: Object.fromEntries(versions),
  };
}
