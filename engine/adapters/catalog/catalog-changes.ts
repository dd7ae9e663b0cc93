// Builds the statement of a catalog write: an update of the dataset that depends on the fence, and CTEs that depend on the
// update.

import type { DatasetId } from '../../model/ids.ts';
import type { CatalogChange, ObjectVersion, StoredShare, SyncPart } from '../../ports/catalog.ts';
import { enqueueCte } from '../jobs/enqueue-jobs.ts';
import { type SqlParameters, storableText } from '../postgres/sql-parameters.ts';
import { settleCtes } from '../uploads/stored-bytes-postgres.ts';
import {
  type Assignments,
  archiveColumns,
  documentColumns,
  type FileFolderName,
  replaceFiles,
  replaceLinks,
} from './dataset-document.ts';

/** CTEs that follow `fence`. A statement cannot change a row twice, so of two changes of the same thing the last one wins. */
export function changeCtes(
  dataset: DatasetId,
  changes: readonly CatalogChange[],
  parameters: SqlParameters,
): readonly string[] {
  const distinct = [...new Map(changes.map((change) => [changeKey(change), change])).values()];
  // A statement that changes a counter and entries of kept objects locks the counter first
  // (../uploads/stored-bytes-postgres.ts).
  const counted = distinct.findIndex(({ set }) => set === 'uploadStored');
  if (counted > 0) distinct.unshift(...distinct.splice(counted, 1));
  const locked = counted < 0 ? 'changed' : '(select from changed, counter) locked';
  let columns: Assignments = {};
  const ctes: string[] = [];
  for (const change of distinct) {
    const parts = changeParts(dataset, change, locked, parameters);
    columns = { ...columns, ...parts.columns };
    ctes.push(...parts.ctes);
  }
  if (distinct.every(({ set }) => INSTALL_STEP_CHANGES.has(set))) return [DATASET_EXISTS, ...ctes];
  // Without columns to set, the update still checks that the dataset exists.
  const assignments = Object.keys(columns).length > 0 ? columns : { row_version: 'row_version' };
  const set = Object.entries(assignments).map(([column, expression]) => `${column} = ${expression}`);
  return [
    `changed as (
      update dataset d set ${set.join(', ')} from fence f where d.dataset_id = f.dataset_id returning d.dataset_id)`,
    ...ctes,
  ];
}

/** Written by the steps of an install, so only by lanes: the most frequent writes. They do not change the dataset's own row. */
const INSTALL_STEP_CHANGES: ReadonlySet<CatalogChange['set']> = new Set(['install', 'attempt', 'attemptOver', 'next']);
/** Used instead of the update, which would write a new version of the dataset's row, with all its metadata, for nothing. */
const DATASET_EXISTS = `changed as materialized (
  select d.dataset_id from dataset d join fence f on d.dataset_id = f.dataset_id for key share of d)`;

interface ChangeParts {
  readonly columns: Assignments;
  readonly ctes: readonly string[];
}

function changeParts(
  dataset: DatasetId,
  change: CatalogChange,
  locked: string,
  parameters: SqlParameters,
): ChangeParts {
  switch (change.set) {
    case 'upload':
      return columnsOnly({
        upload_status: parameters.add(change.status, 'text'),
        upload_message: parameters.add(change.message === undefined ? null : storableText(change.message), 'text'),
      });
    case 'import':
      return columnsOnly({
        import_status: parameters.add(change.status, 'text'),
        import_messages: parameters.add(change.messages.map(storableText), 'text[]'),
      });
    case 'state':
      return columnsOnly({ state: stateColumn(change, parameters), row_version: 'd.row_version + 1' });
    case 'metadata':
      return {
        columns: { ...documentColumns(dataset, change.metadata, parameters), row_version: 'd.row_version + 1' },
        ctes: replaceLinks(change.metadata, 'changed', parameters),
      };
    case 'uploadFiles':
    case 'installFiles':
    case 'documentFiles':
    case 'propertyFiles':
      return fileParts(change, parameters);
    case 'shares':
      return { columns: {}, ctes: shareCtes(change.shares, parameters) };
    case 'kept': {
      const sizes = new Map(change.objects.map(({ name, size }) => [name, size]));
      const names = parameters.add([...sizes.keys()], 'text[]');
      return childOnly(`kept as (
        insert into kept_object (dataset_id, name, owner_id, bytes)
        select d.dataset_id, x.name, d.owner_id, x.bytes
        from changed f join dataset d on d.dataset_id = f.dataset_id,
          unnest(${names}, ${parameters.add([...sizes.values()], 'bigint[]')}) x (name, bytes)
        on conflict (dataset_id, name) do nothing)`);
    }
    case 'install':
      return childOnly(`install_${parameters.values.length} as (
        insert into install_status as i (dataset_id, target_id, kind, status, messages)
        select f.dataset_id, ${parameters.add(change.target, 'text')}, ${parameters.add(change.kind, 'text')},
          ${parameters.add(change.status, 'text')}, ${parameters.add(change.messages.map(storableText), 'text[]')}
        from changed f on conflict (dataset_id, target_id, kind)
        do update set status = excluded.status, messages = excluded.messages, updated = excluded.updated)`);
    case 'attempt':
      return childOnly(`attempt_${parameters.values.length} as (
        insert into install_attempt (dataset_id, target_id, kind, attempts, not_before, started)
        select f.dataset_id, ${parameters.add(change.target, 'text')}, ${parameters.add(change.kind, 'text')},
          ${parameters.add(change.attempts, 'integer')}, ${parameters.add(change.notBefore ?? null, 'timestamptz')},
          ${parameters.add(change.started, 'boolean')}
        from changed f on conflict (dataset_id, target_id, kind)
        do update set attempts = excluded.attempts, not_before = excluded.not_before, started = excluded.started)`);
    case 'attemptOver':
      return childOnly(`attempt_${parameters.values.length} as (
        delete from install_attempt a using changed f
        where a.dataset_id = f.dataset_id and a.target_id = ${parameters.add(change.target, 'text')}
          and a.kind = ${parameters.add(change.kind, 'text')})`);
    case 'archive':
      return columnsOnly(archiveColumns(change.object, change.digest, parameters));
    case 'sync':
      return columnsOnly(syncColumns(change.part, change.version, parameters));
    case 'settled':
      return {
        columns: {},
        ctes: settleCtes({ dataset, owner: change.owner }, change.objects, parameters, locked),
      };
    case 'uploadStored':
      return { columns: { raw_bytes: '0' }, ctes: UPLOAD_STORED };
    case 'next':
      return childOnly(
        enqueueCte(
          `next_${change.lane}`,
          change,
          'changed f join dataset d on d.dataset_id = f.dataset_id',
          {
            dataset: 'f.dataset_id',
            owner: 'd.owner_id',
            type: `d.type_name || ':' || d.type_version`,
            traceparent: 'd.traceparent',
          },
          parameters,
        ),
      );
    case 'trimmed':
      return {
        columns: {
          ...{ data_etag: 'null', data_modified_ms: 'null' },
          ...{ install_zip_etag: 'null', install_zip_sha256: 'null' },
        },
        ctes: ['no_installs as (delete from install_status i using changed f where i.dataset_id = f.dataset_id)'],
      };
    default:
      throw change satisfies never;
  }
}

/** Jobs that an event created before the upload was accepted have no trace yet. They get the upload's trace. */
const UPLOAD_STORED = [
  `counter as (
    insert into owner_usage as u (owner_id, bytes)
    select d.owner_id, 0 from changed f join dataset d on d.dataset_id = f.dataset_id
    on conflict (owner_id) do update set bytes = u.bytes returning u.owner_id)`,
  `stored as (update upload u set state = 'stored', source = null from changed f where u.accepted_id = f.dataset_id)`,
  `untraced as (
    select j.id, d.traceparent from changed f join dataset d on d.dataset_id = f.dataset_id
      join job j on j.dataset_id = f.dataset_id
    where d.traceparent is not null and j.traceparent is null order by j.lane for update of j)`,
  'traced as (update job j set traceparent = n.traceparent from untraced n where j.id = n.id)',
];

function stateColumn({ state, from }: Extract<CatalogChange, { set: 'state' }>, parameters: SqlParameters): string {
  const to = parameters.add(state, 'text');
  return from === undefined ? to : `case when d.state = ${parameters.add(from, 'text')} then ${to} else d.state end`;
}

/** The columns for the version of a part that the cache reflects. */
export const syncColumns = (part: SyncPart, version: ObjectVersion, parameters: SqlParameters): Assignments => ({
  [`${part}_etag`]: parameters.add(version.etag, 'text'),
  [`${part}_modified_ms`]: parameters.add(version.modified.getTime(), 'bigint'),
});

const FOLDERS = {
  uploadFiles: 'upload',
  installFiles: 'install',
  documentFiles: 'document',
  propertyFiles: 'property',
} as const satisfies Record<string, FileFolderName>;

function fileParts(
  change: Extract<CatalogChange, { set: keyof typeof FOLDERS }>,
  parameters: SqlParameters,
): ChangeParts {
  const ctes = replaceFiles(FOLDERS[change.set], change.files, 'changed', parameters);
  if (change.set !== 'uploadFiles') return { columns: {}, ctes };
  const bytes = parameters.add(
    change.files.reduce((sum, file) => sum + file.size, 0),
    'bigint',
  );
  return {
    columns: {
      upload_file_count: parameters.add(change.files.length, 'integer'),
      upload_file_bytes: bytes,
    },
    ctes,
  };
}

function shareCtes(shares: readonly StoredShare[], parameters: SqlParameters): readonly string[] {
  const recipients = parameters.add(
    shares.map((share) => share.recipient),
    'numeric[]',
  );
  return [
    `dropped_shares as (
      delete from dataset_share s using changed f
      where s.dataset_id = f.dataset_id and s.recipient_id <> all (${recipients}))`,
    insertShares(shares, 'changed', parameters),
  ];
}

/** Adds or replaces them for the datasets of `from`. */
export function insertShares(shares: readonly StoredShare[], from: string, parameters: SqlParameters): string {
  const last = [...new Map(shares.map((share) => [share.recipient, share])).values()];
  const recipients = parameters.add(
    last.map((share) => share.recipient),
    'numeric[]',
  );
  const offers = parameters.add(
    last.map((share) => share.offer ?? null),
    'text[]',
  );
  const receipts = parameters.add(
    last.map((share) => share.receipt ?? null),
    'text[]',
  );
  return `added_shares as (
      insert into dataset_share (dataset_id, recipient_id, offer, receipt)
      select f.dataset_id, x.recipient, x.offer, x.receipt
      from ${from} f, unnest(${recipients}, ${offers}, ${receipts}) x (recipient, offer, receipt)
      on conflict (dataset_id, recipient_id) do update set offer = excluded.offer, receipt = excluded.receipt)`;
}

const columnsOnly = (columns: Assignments): ChangeParts => ({ columns, ctes: [] });
const childOnly = (cte: string): ChangeParts => ({ columns: {}, ctes: [cte] });

/** Equal for two changes of the same thing. */
export function changeKey(change: CatalogChange): string {
  if (change.set === 'next') return `next ${change.lane}`;
  if (change.set === 'install') return `install ${change.kind} ${change.target}`;
  if (change.set === 'attempt' || change.set === 'attemptOver') return `attempt ${change.kind} ${change.target}`;
  if (change.set === 'archive') return `archive ${change.object}`;
  return change.set === 'sync' ? `sync ${change.part}` : change.set;
}
