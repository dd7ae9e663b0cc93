// The administrators' reports on all datasets. A page begins where the last one ended, using the index with its order, so the
// thousandth page costs as much as the first. An offset is skipped in an index-only scan.

import type { DatasetId, TargetId, UserId } from '../../model/ids.ts';
import type { DatasetRecord } from '../../ports/catalog.ts';
import type {
  DatasetReports,
  DatasetStatus,
  FailedImport,
  FailedImportFilter,
  ReportedDataset,
  ReportFilter,
  ReportPage,
  StuckStatus,
} from '../../ports/dataset-queries.ts';
import { type Items, mapped, opened } from '../../runtime/items.ts';
import { type DatasetRow, datasetRecord } from '../catalog/dataset-row.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { boundedPage, rowPages } from '../postgres/row-pages.ts';
import { statementName } from '../postgres/sql-parameters.ts';
import {
  ALL_COUNT,
  DATASETS_WITH_DELETED,
  FAILED_IMPORTS,
  FIND,
  LIVE_DATASETS,
  NarrowedStatements,
  STATUSES,
  STUCK_INSTALLS,
  TARGET_COUNT,
  TARGET_SPELLINGS,
} from './dataset-report-statements.ts';

/** Rows per page: enough to hide the round trips, few enough not to block the event loop for long. */
const PAGE = 100;

/** A row's place in creation order. The time is text, because a Date has no microseconds. */
interface Place {
  readonly position: string;
  readonly dataset_id: DatasetId;
}

const BEFORE_ALL: Place = { position: '-infinity', dataset_id: '' as DatasetId };
const AFTER_ALL: Place = { position: 'infinity', dataset_id: '' as DatasetId };

interface FailedImportRow extends Place {
  readonly owner_id: UserId;
  readonly type_name: string;
  readonly type_version: string;
  readonly targets: TargetId[];
  readonly import_messages: string[];
}

interface StuckPlace {
  readonly stuck_target: string;
  readonly dataset_id: DatasetId;
}

interface StuckRow extends DatasetRow, StuckPlace {}

const BEFORE_ALL_STUCK: StuckPlace = { stuck_target: '', dataset_id: '' as DatasetId };

export class PostgresDatasetReports implements DatasetReports {
  readonly #db: Pick<Postgres, 'query'>;

  constructor(db: Pick<Postgres, 'query'>) {
    this.#db = db;
  }

  async count(filter: ReportFilter, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    const { target, includeDeleted } = filter;
    if (isNarrowed(filter)) {
      const { text, values } = (await this.#narrowed(filter)).count();
      const [row] = await this.#db.query<{ total: number }>(text, values);
      return row?.total ?? 0;
    }
    const hidden = includeDeleted ? ['receiving'] : ['receiving', 'deleting', 'deleted', 'pruning'];
    const [row] =
      target === undefined
        ? await this.#db.query<{ total: number }>(ALL_COUNT, [hidden], 'report-all-count')
        : await this.#db.query<{ total: number }>(
            TARGET_COUNT,
            [hidden, await this.#spellings(target)],
            'report-target-count',
          );
    return row?.total ?? 0;
  }

  all(filter: ReportFilter, page: ReportPage, signal: AbortSignal): AsyncIterable<DatasetRecord> {
    return mapped(
      opened(() => (isNarrowed(filter) ? this.#some(filter, page, signal) : this.#all(filter, page, signal))),
      datasetRecord,
    );
  }

  /** Undefined when the page begins after the last row. */
  async #all(
    { target, includeDeleted }: ReportFilter,
    { limit, offset }: ReportPage,
    signal: AbortSignal,
  ): Promise<AsyncIterable<DatasetRow> | undefined> {
    signal.throwIfAborted();
    const spellings = target === undefined ? [] : [await this.#spellings(target)];
    const statements = includeDeleted ? DATASETS_WITH_DELETED : LIVE_DATASETS;
    const { start, page } = target === undefined ? statements.all : statements.ofTarget;
    let from: Place | undefined = BEFORE_ALL;
    if (offset > 0) [from] = await this.#db.query<Place>(start, [offset - 1, ...spellings], statementName(start));
    if (!from) return undefined;
    const bounded = boundedPage(page);
    return pages<DatasetRow & Place>(from, limit, signal, ({ position, dataset_id }, count) =>
      this.#db.query(bounded, [position, dataset_id, count, ...spellings], statementName(bounded)),
    );
  }

  /** Undefined when the page begins after the last row. The statements are not kept: there are many. */
  async #some(
    filter: ReportFilter,
    { limit, offset }: ReportPage,
    signal: AbortSignal,
  ): Promise<AsyncIterable<DatasetRow> | undefined> {
    signal.throwIfAborted();
    const statements = await this.#narrowed(filter);
    const skipped = statements.start(offset - 1);
    const [from] = offset > 0 ? await this.#db.query<Place>(skipped.text, skipped.values) : [BEFORE_ALL];
    if (!from) return undefined;
    return pages<DatasetRow & Place>(from, limit, signal, ({ position, dataset_id }, count) => {
      const { text, values } = statements.page(position, dataset_id, count);
      return this.#db.query(boundedPage(text), values);
    });
  }

  async #narrowed(filter: ReportFilter): Promise<NarrowedStatements> {
    const { target } = filter;
    return new NarrowedStatements(filter, target === undefined ? undefined : await this.#spellings(target));
  }

  async find(dataset: DatasetId, signal: AbortSignal): Promise<ReportedDataset | undefined> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<DatasetRow & { readonly inserted: Date }>(FIND, [dataset], 'report-find');
    return row && { ...datasetRecord(row), inserted: row.inserted };
  }

  failedImports(
    { owner, before, after, order }: FailedImportFilter,
    { limit, offset }: ReportPage,
    signal: AbortSignal,
  ): AsyncIterable<FailedImport> {
    const text = boundedPage(FAILED_IMPORTS[order]);
    const values = [owner ?? null, before ?? null, after ?? null];
    let skip = offset;
    const from = order === 'asc' ? BEFORE_ALL : AFTER_ALL;
    const rows = pages<FailedImportRow>(from, limit, signal, async ({ position, dataset_id }, count) => {
      const page = await this.#db.query<FailedImportRow>(text, [position, dataset_id, count, skip, ...values]);
      skip = 0;
      return page;
    });
    return mapped(rows, (row) => ({
      owner: row.owner_id,
      dataset: row.dataset_id,
      type: { name: row.type_name, version: row.type_version },
      installTargets: row.targets.sort(),
      messages: row.import_messages,
    }));
  }

  async statuses(signal: AbortSignal): Promise<ReadonlyMap<DatasetStatus, number>> {
    signal.throwIfAborted();
    const rows = await this.#db.query<{ status: DatasetStatus; datasets: number }>(STATUSES);
    return new Map(rows.map(({ status, datasets }) => [status, datasets]));
  }

  stuckInstalls(status: StuckStatus, signal: AbortSignal): AsyncIterable<DatasetRecord> {
    const text = boundedPage(STUCK_INSTALLS[status]);
    const rows = rowPages<StuckRow, StuckPlace>({
      read: (count, { stuck_target, dataset_id } = BEFORE_ALL_STUCK) =>
        this.#db.query(text, [stuck_target, dataset_id, count]),
      placeOf: ({ stuck_target, dataset_id }) => ({ stuck_target, dataset_id }),
      pageSize: PAGE,
      limit: Number.POSITIVE_INFINITY,
      signal,
    });
    return mapped(rows, datasetRecord);
  }

  /** All spellings of a target's name, ignoring case; empty when no dataset names it. */
  async #spellings(target: string): Promise<readonly string[]> {
    const rows = await this.#db.query<{ target_id: string }>(TARGET_SPELLINGS, [target], 'report-spellings');
    return rows.map((row) => row.target_id);
  }
}

/** By more than the target. */
const isNarrowed = ({ name, type, status, updatedSince, owner }: ReportFilter): boolean =>
  [name, type, status, updatedSince, owner].some((asked) => asked !== undefined);

/** Rows after `from`; each row marks where the next page may begin. */
const pages = <Row extends Place>(
  from: Place,
  limit = Number.POSITIVE_INFINITY,
  signal: AbortSignal,
  read: (after: Place, count: number) => Promise<readonly Row[]>,
): Items<Row> =>
  rowPages<Row, Place>({
    read: (count, after) => read(after ?? from, count),
    placeOf: ({ position, dataset_id }) => ({ position, dataset_id }),
    pageSize: PAGE,
    limit,
    signal,
  });
