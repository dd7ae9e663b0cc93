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
  ShareStatus,
  ViewedDataset,
} from '../../ports/dataset-queries.ts';
import { mapped } from '../../runtime/items.ts';
import type { FileFolderName } from '../catalog/dataset-document.ts';
import {
  DATASET_COLUMNS,
  type DatasetRow,
  datasetRecord,
  installsReader,
  SHARES_COLUMN,
  SHOWN_COLUMNS,
  type SharesRow,
  type ShownRow,
  shownRecord,
  storedMetadata,
} from '../catalog/dataset-row.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { boundedPage, type PageRow, rowPages } from '../postgres/row-pages.ts';
import { SqlParameters, statementName } from '../postgres/sql-parameters.ts';
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

// The statements for a user's listings, one page at a time: the page's ids come from an index, then each dataset is read with
// all its children. No connection is held between pages, however slowly the list is read.

/** The last dataset of the previous page; `created` is text to keep the database's full precision. */
interface PageEnd {
  readonly created_text: string;
  readonly dataset_id: DatasetId;
}

interface ListRow extends ShownRow, SharesRow, PageEnd {
  readonly dataset_id: DatasetId;
  readonly upload_file_count: number;
  readonly upload_file_bytes: number;
}

interface ListStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** @param after end of the previous page; the offset then does not apply again */
export function listStatement(filter: ListFilter, after?: PageEnd): ListStatement {
  const parameters = new SqlParameters();
  // PostgreSQL rejects parameters that the statement does not use.
  const viewer = filter.ownership === 'community' ? '' : parameters.add(filter.viewer, 'numeric');
  const target =
    filter.target === undefined
      ? ''
      : // One index lookup per dataset: a join sometimes reads the whole table.
        `and coalesce((select true from dataset_target t where t.dataset_id = d.dataset_id
           and t.target_id = ${parameters.add(filter.target, 'text')} limit 1), false)`;
  const rest = `${target} ${laterThan(after, parameters)}`;
  const owned = `
    select d.dataset_id, d.created from dataset d where d.state = 'live' and d.owner_id = ${viewer} ${rest}`;
  const shared = `
    select d.dataset_id, d.created from dataset_share s join dataset d on d.dataset_id = s.dataset_id
    where s.recipient_id = ${viewer} and s.offer = 'grant' and s.receipt = 'accept'
      and d.state = 'live' and d.owner_id <> ${viewer} ${rest}`;
  const community = `
    select d.dataset_id, d.created from dataset d where d.state = 'live' and d.visibility <> 'private' ${rest}`;
  const visible = { owned, shared, any: `${owned} union all ${shared}`, community }[filter.ownership];
  // A limit of null means no limit.
  const limit = parameters.add(filter.limit ?? null, 'bigint');
  const offset = parameters.add(after ? 0 : (filter.offset ?? 0), 'bigint');
  return {
    text: `
      select ${SHOWN_COLUMNS}, ${SHARES_COLUMN}, d.upload_file_count, d.upload_file_bytes,
        page.created::text as created_text
      from (select v.dataset_id, v.created from (${visible}) v
        order by v.created desc, v.dataset_id limit ${limit} offset ${offset}) page
      join dataset d on d.dataset_id = page.dataset_id
      order by page.created desc, page.dataset_id`,
    values: parameters.values,
  };
}

/** Order: newest first, ties by id. */
function laterThan(after: PageEnd | undefined, parameters: SqlParameters): string {
  if (!after) return '';
  const created = `${parameters.add(after.created_text, 'text')}::timestamptz`;
  const id = parameters.add(after.dataset_id, 'text');
  return `and d.created <= ${created} and (d.created < ${created} or d.dataset_id > ${id})`;
}

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
  };
}
