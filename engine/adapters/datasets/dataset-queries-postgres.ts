// The front ends' queries on the cache DB.

import type { DatasetId, UserId } from '../../model/ids.ts';
import type { DatasetMetadata, FileEntry } from '../../model/metadata.ts';
import type {
  DatasetFiles,
  DatasetQueries,
  ListedDataset,
  ListFilter,
  OfferedDataset,
  OfferFilter,
  RelatedDataset,
  RevisionFamily,
  ViewedDataset,
} from '../../ports/dataset-queries.ts';
import { mapped } from '../../runtime/items.ts';
import type { FileFolderName } from '../catalog/dataset-files.ts';
import {
  DATASET_COLUMNS,
  type DatasetRow,
  datasetRecord,
  installsReader,
  SHARES_COLUMN,
  type SharesRow,
  shownRecord,
} from '../catalog/dataset-row.ts';
import { storedMetadata } from '../catalog/stored-metadata.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { boundedPage, type PageRow, rowPages } from '../postgres/row-pages.ts';
import { statementName } from '../postgres/statement-name.ts';
import {
  type ListRow,
  type ListStatement,
  listStatement,
  type OfferRow,
  offersStatement,
  type PageEnd,
} from './dataset-list.ts';
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

const FILES = `
  select f.folder, f.name, f.size from dataset_file f join dataset d on d.dataset_id = f.dataset_id
  where f.dataset_id = $1 and (f.folder <> 'install' or d.import_status = 'complete')
  order by f.folder, f.name collate "C"`;

interface ViewRow extends DatasetRow, SharesRow {
  readonly newest: DatasetId | null;
}

type FamilyRow = { readonly highest_number: number } & (DatasetRow | { readonly dataset_id: null });

interface FileRow extends FileEntry {
  readonly folder: FileFolderName;
}

export class PostgresDatasetQueries implements DatasetQueries {
  readonly #db: Pick<Postgres, 'query'>;

  constructor(db: Pick<Postgres, 'query'>) {
    this.#db = db;
  }

  list(filter: ListFilter, signal: AbortSignal): AsyncIterable<ListedDataset> {
    const installsOf = installsReader();
    return mapped(this.#pages<ListRow & PageRow, ListFilter>(filter, listStatement, signal), (row) => ({
      ...shownRecord(row, installsOf),
      fileCount: row.upload_file_count,
      fileBytes: row.upload_file_bytes,
      bytes: row.row_bytes ?? 0,
      shares: row.shares ?? [],
    }));
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
        const { text: rows, values } = statement({ ...filter, limit }, after);
        const text = boundedPage(rows);
        return this.#db.query<Row>(text, values, statementName(text));
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

  async files(dataset: DatasetId, signal: AbortSignal): Promise<DatasetFiles> {
    signal.throwIfAborted();
    const rows = await this.#db.query<FileRow>(FILES, [dataset], 'dataset-files');
    const inFolder = (folder: FileFolderName): FileEntry[] =>
      rows.filter((row) => row.folder === folder).map(({ name, size }) => ({ name, size }));
    return {
      upload: inFolder('upload'),
      install: inFolder('install'),
      documents: inFolder('document'),
      properties: inFolder('property'),
    };
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
