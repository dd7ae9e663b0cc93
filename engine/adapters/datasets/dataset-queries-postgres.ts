// The front ends' queries on the cache DB.

import type { DatasetId, UserId } from '../../model/ids.ts';
import type { DatasetMetadata } from '../../model/metadata.ts';
import type { ObjectDigest } from '../../ports/catalog.ts';
import type {
  DatasetFiles,
  DatasetQueries,
  DigestedFile,
  FileDigests,
  ListedDataset,
  ListFilter,
  ListOrder,
  ListPage,
  ListPlace,
  ListSelection,
  OfferedDataset,
  OfferFilter,
  RelatedDataset,
  RevisionFamily,
  ShareStatus,
  ViewedDataset,
} from '../../ports/dataset-queries.ts';
import { flattened, Items, mapped } from '../../runtime/items.ts';
import {
  DATASET_COLUMNS,
  type DatasetRow,
  datasetRecord,
  installsReader,
  SHARES_COLUMN,
  type SharesRow,
  type ShownRow,
  shownRecord,
  storedMetadata,
} from '../catalog/dataset-row.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { boundedPage, type PageRow, rowPages } from '../postgres/row-pages.ts';
import { SqlParameters, statementName } from '../postgres/sql-parameters.ts';
import { datasetFiles, fileDigest } from './dataset-files.ts';
import {
  countStatement,
  type ListStatement,
  laterThan,
  listStatement,
  type PageEnd,
  pageStatement,
  rowsStatement,
} from './dataset-list-statements.ts';
import { mayHaveRelatives, type RelatedRow, relatedDataset, relatedStatement } from './related-datasets.ts';

/** Rows per page: enough to hide the round trips, few enough not to block the event loop for long. */
const LIST_BATCH = 200;

const VIEW = `
  select ${DATASET_COLUMNS}, ${SHARES_COLUMN},
    (select n.dataset_id from dataset n
     where n.root_id = d.root_id and n.owner_id = d.owner_id and n.state = 'live'
     order by n.revision desc limit 1) as newest
  from dataset d where d.dataset_id = $1 and d.state <> 'receiving'`;

const FAMILY = `
  select ${DATASET_COLUMNS},
    (select max(a.revision) from dataset a where a.root_id = o.root_id and a.owner_id = o.owner_id) as highest_number
  from dataset o left join lateral (
    select * from dataset n
    where n.root_id = o.root_id and n.owner_id = o.owner_id and n.state in ('live', 'superseded')
    order by n.revision desc limit 1) d on true
  where o.dataset_id = $1 and o.state <> 'receiving'`;

interface ViewRow extends DatasetRow, SharesRow {
  readonly newest: DatasetId | null;
}

type FamilyRow = { readonly highest_number: number } & (DatasetRow | { readonly dataset_id: null });

export class PostgresDatasetQueries implements DatasetQueries, FileDigests {
  readonly #db: Pick<Postgres, 'query'>;

  constructor(db: Pick<Postgres, 'query'>) {
    this.#db = db;
  }

  list(filter: ListFilter, signal: AbortSignal): AsyncIterable<ListedDataset> {
    return mapped(this.#pages<ListRow & PageEnd & PageRow, ListFilter>(filter, listStatement, signal), listedReader());
  }

  async page(
    selection: ListSelection,
    order: ListOrder,
    page: { readonly limit: number; readonly after?: ListPlace },
    signal: AbortSignal,
  ): Promise<ListPage> {
    signal.throwIfAborted();
    const found = await this.#run<PlaceRow>(pageStatement(selection, order, page));
    const isLast = found.length <= page.limit;
    const rows = isLast ? found : found.slice(0, page.limit);
    const end = rows.at(-1);
    return {
      next: isLast || !end ? undefined : { keys: keysOf(end), dataset: end.dataset_id },
      datasets: this.#rowsOf(
        selection,
        rows.map((row) => row.dataset_id),
        signal,
      ),
    };
  }

  async count(selection: ListSelection, order: ListOrder, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    const [row] = await this.#run<{ readonly total: number }>(countStatement(selection, order));
    return row?.total ?? 0;
  }

  /** In short statements, each bounded in rows and in bytes. */
  #rowsOf(selection: ListSelection, ids: readonly DatasetId[], signal: AbortSignal): AsyncIterable<ListedDataset> {
    let begin = 0;
    const batches = new Items(async () => {
      for (;;) {
        if (begin >= ids.length) return undefined;
        signal.throwIfAborted();
        const asked = ids.slice(begin, begin + LIST_BATCH);
        const { text, ...statement } = rowsStatement(selection, asked);
        const rows = await this.#run<ListRow & PageRow & { readonly n: number }>({
          ...statement,
          text: boundedPage(text),
        });
        const last = rows.at(-1);
        begin += last && rows.length < (last.page_rows ?? 0) ? last.n : asked.length;
        if (last) return rows;
      }
    });
    return mapped(flattened(batches), listedReader());
  }

  #run<Row extends object>({ text, values, isKept }: ListStatement): Promise<Row[]> {
    return this.#db.query<Row>(text, values, isKept ? statementName(text) : undefined);
  }

  offers(filter: OfferFilter, signal: AbortSignal): AsyncIterable<OfferedDataset> {
    return mapped(this.#pages<OfferRow & PageRow, OfferFilter>(filter, offersStatement, signal), (row) => ({
      owner: row.owner_id,
      dataset: row.dataset_id,
      metadata: storedMetadata(row.dataset_id, row.owner_id, row.metadata),
      status: row.status,
      bytes: row.row_bytes ?? 0,
    }));
  }

  #pages<Row extends PageEnd & PageRow, Filter extends { readonly limit?: number }>(
    filter: Filter,
    statement: (filter: Filter, after?: PageEnd) => ListStatement,
    signal: AbortSignal,
  ): AsyncIterable<Row> {
    return rowPages<Row, PageEnd>({
      read: (limit, after) => {
        const { text, ...rest } = statement({ ...filter, limit }, after);
        return this.#run<Row>({ ...rest, text: boundedPage(text) });
      },
      placeOf: ({ created_text, dataset_id }) => ({ created_text, dataset_id }),
      pageSize: LIST_BATCH,
      limit: filter.limit ?? Number.POSITIVE_INFINITY,
      signal,
    });
  }

  async view(dataset: DatasetId, signal: AbortSignal): Promise<ViewedDataset | undefined> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<ViewRow>(VIEW, [dataset], 'dataset-view');
    if (!row) return undefined;
    const newest = row.newest === null || row.newest === dataset ? undefined : row.newest;
    return { ...datasetRecord(row), shares: row.shares ?? [], newest };
  }

  async family(dataset: DatasetId, signal: AbortSignal): Promise<RevisionFamily | undefined> {
    signal.throwIfAborted();
    const [row] = await this.#db.query<FamilyRow>(FAMILY, [dataset], 'dataset-family');
    if (!row) return undefined;
    return { highestNumber: row.highest_number, newest: row.dataset_id === null ? undefined : datasetRecord(row) };
  }

  files(dataset: DatasetId, signal: AbortSignal): Promise<DatasetFiles> {
    return datasetFiles(this.#db, dataset, signal);
  }

  digest(dataset: DatasetId, file: DigestedFile, signal: AbortSignal): Promise<ObjectDigest | undefined> {
    return fileDigest(this.#db, dataset, file, signal);
  }

  async related(
    dataset: DatasetId,
    metadata: DatasetMetadata,
    viewer: UserId,
    signal: AbortSignal,
  ): Promise<readonly RelatedDataset[]> {
    signal.throwIfAborted();
    if (!mayHaveRelatives(metadata)) return [];
    const { text, values } = relatedStatement(dataset, metadata, viewer);
    return (await this.#db.query<RelatedRow>(text, values, 'dataset-related')).map(relatedDataset);
  }
}

interface ListRow extends ShownRow, SharesRow {
  readonly upload_file_count: number;
  readonly upload_file_bytes: number;
}

function listedReader(): (row: ListRow & PageRow) => ListedDataset {
  const installsOf = installsReader();
  return (row) => ({
    ...shownRecord(row, installsOf),
    fileCount: row.upload_file_count,
    fileBytes: row.upload_file_bytes,
    bytes: row.row_bytes ?? 0,
    shares: row.shares ?? [],
  });
}

interface PlaceRow {
  readonly dataset_id: DatasetId;
  readonly k0: string;
  readonly k1?: string;
}

const keysOf = ({ k0, k1 }: PlaceRow): readonly string[] => (k1 === undefined ? [k0] : [k0, k1]);

interface OfferRow extends PageEnd {
  readonly owner_id: UserId;
  readonly metadata: string;
  readonly status: ShareStatus;
}

function offersStatement(filter: OfferFilter, after?: PageEnd): ListStatement {
  const { recipient, status, limit, offset } = filter;
  const parameters = new SqlParameters();
  const answers = { open: 'is null', accepted: `= 'accept'`, rejected: `= 'reject'` } as const;
  const answered = status === 'all' ? '' : `and s.receipt ${answers[status]}`;
  return {
    text: `
      select d.dataset_id, d.owner_id::text as owner_id, d.metadata::text as metadata,
        d.created::text as created_text,
        case s.receipt when 'accept' then 'accepted' when 'reject' then 'rejected' else 'open' end as status
      from dataset_share s join dataset d on d.dataset_id = s.dataset_id
      where s.recipient_id = ${parameters.add(recipient, 'numeric')} and s.offer = 'grant' and d.state = 'live' ${answered}
        ${laterThan(after, parameters)}
      order by d.created desc, d.dataset_id
      limit ${parameters.add(limit ?? null, 'bigint')} offset ${parameters.add(after ? 0 : (offset ?? 0), 'bigint')}`,
    values: parameters.values,
    isKept: true,
  };
}
