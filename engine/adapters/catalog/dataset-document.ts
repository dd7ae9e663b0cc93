// A dataset's metadata as rows: the whole document, the columns that queries need, its targets and publications.
// Metadata of compatible systems may have unexpected values. Those that do not fit a column stay in the document only.

import type { ArchiveObject } from '../../model/digest.ts';
import { type DatasetId, revisionNumber } from '../../model/ids.ts';
import {
  type DatasetMetadata,
  type FileEntry,
  originalOf,
  type Publication,
  serializeMetadata,
} from '../../model/metadata.ts';
import type { DatasetAddress } from '../../model/object-key.ts';
import { STORED_VISIBILITIES, type StoredVisibility } from '../../model/status.ts';
import type { ObjectDigest } from '../../ports/catalog.ts';
import { type SqlParameters, storableJson, storableText } from '../postgres/sql-parameters.ts';

/** Column name to SQL expression. */
export type Assignments = Readonly<Record<string, string>>;

/** The columns of `dataset` that are derived from the metadata. */
export function documentColumns(dataset: DatasetId, metadata: DatasetMetadata, parameters: SqlParameters): Assignments {
  const created = new Date(metadata.created);
  const { root, revision } = lineage(dataset, metadata);
  const text = (value: string | undefined): string =>
    parameters.add(typeof value === 'string' ? storableText(value) : null, 'text');
  return {
    root_id: text(root),
    revision: parameters.add(revision, 'integer'),
    type_name: text(metadata.type.name),
    type_version: text(metadata.type.version),
    metadata: parameters.add(storableJson(serializeMetadata(metadata)), 'jsonb'),
    visibility: text(storedVisibility(metadata.visibility)),
    name: text(metadata.name),
    project_name: parameters.add(indexedText(metadata.projectName), 'text'),
    program_name: parameters.add(indexedText(metadata.programName), 'text'),
    install_targets: parameters.add([...new Set(targetsOf(metadata))].sort(), 'text[]'),
    ...(Number.isNaN(created.getTime()) ? {} : { created: parameters.add(created, 'timestamptz') }),
  };
}

/**
 * PostgreSQL rejects a row of an index with more than 2,704 bytes. Our own documents have at most 256 characters. The indexes of
 * 0021-related-in-order.sql have the same bound.
 */
export const MAX_INDEXED_BYTES = 1024;

/** Null for what is no text, or is too long for an index: it stays in the document, and relates no datasets. */
export function indexedText(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  // What replaces a NUL is longer than it.
  const stored = storableText(value);
  return Buffer.byteLength(stored) <= MAX_INDEXED_BYTES ? stored : null;
}

/**
 * CTEs that insert the dataset and its links. The CTE `added` returns its id if it was inserted, and no row if it existed.
 * @param from `from` clause (and `where`) with one row when the dataset may be added, none otherwise
 */
export function insertDataset(
  at: DatasetAddress,
  metadata: DatasetMetadata,
  columns: Assignments,
  from: string,
  parameters: SqlParameters,
): string[] {
  const all: Assignments = {
    dataset_id: parameters.add(at.dataset, 'text'),
    owner_id: parameters.add(at.owner, 'numeric'),
    ...documentColumns(at.dataset, metadata, parameters),
    ...columns,
  };
  return [
    `added as (
      insert into dataset (${Object.keys(all).join(', ')}) select ${Object.values(all).join(', ')} from ${from}
      on conflict (dataset_id) do nothing returning dataset_id)`,
    ...insertLinks(metadata, 'added', parameters),
  ];
}

/** CTEs that replace targets and publications with those of the metadata. `from` names a CTE with the dataset's id. */
export function replaceLinks(metadata: DatasetMetadata, from: string, parameters: SqlParameters): string[] {
  const { types, identifiers } = indexedPublications(metadata);
  const targets = parameters.add(targetsOf(metadata), 'text[]');
  const keepTypes = parameters.add(types, 'text[]');
  const keepIdentifiers = parameters.add(identifiers, 'text[]');
  return [
    `dropped_targets as (
      delete from dataset_target t using ${from} f where t.dataset_id = f.dataset_id and t.target_id <> all (${targets}))`,
    `dropped_publications as (
      delete from dataset_publication p using ${from} f where p.dataset_id = f.dataset_id
        and not exists (select from unnest(${keepTypes}, ${keepIdentifiers}) k (type, identifier)
          where k.type = p.type and k.identifier = p.identifier))`,
    ...insertLinks(metadata, from, parameters),
  ];
}

function insertLinks(metadata: DatasetMetadata, from: string, parameters: SqlParameters): string[] {
  const { types, identifiers } = indexedPublications(metadata);
  return [
    `added_targets as (
      insert into dataset_target (dataset_id, target_id)
      select f.dataset_id, unnest(${parameters.add(targetsOf(metadata), 'text[]')}) from ${from} f on conflict do nothing)`,
    `added_publications as (
      insert into dataset_publication (dataset_id, type, identifier)
      select f.dataset_id, p.type, p.identifier from ${from} f,
        unnest(${parameters.add(types, 'text[]')}, ${parameters.add(identifiers, 'text[]')}) p (type, identifier)
      on conflict do nothing)`,
  ];
}

/** Our revisions are named `{root}_{n}`. Those of compatible systems can only be found in the history in their metadata. */
function lineage(dataset: DatasetId, metadata: DatasetMetadata): { root: DatasetId; revision: number } {
  const history = metadata.revisionHistory;
  const place = history?.revisions.findIndex((entry) => entry.revisionId === dataset) ?? -1;
  return {
    root: originalOf(dataset, metadata),
    revision: revisionNumber(dataset) || Math.max(place, 0),
  };
}

/** The visibility to store. Unknown values in foreign documents become private. */
export function storedVisibility(visibility: string): StoredVisibility {
  const known = STORED_VISIBILITIES.find((word) => word === visibility);
  // Some older documents contain `controlled`, which the API computes.
  return known ?? (visibility === 'controlled' ? 'protected' : 'private');
}

const targetsOf = (metadata: DatasetMetadata): string[] => metadata.installTargets.map(storableText);

/** Those by which datasets are related. */
export function indexedPublications(metadata: DatasetMetadata): { types: string[]; identifiers: string[] } {
  const usable = (metadata.publications ?? []).flatMap(({ type, identifier }: Partial<Publication>) => {
    const text = indexedText(identifier);
    return (type === 'pmid' || type === 'doi') && text !== null ? [{ type, text }] : [];
  });
  return { types: usable.map(({ type }) => type), identifiers: usable.map(({ text }) => text) };
}

// The file rows of a dataset: uploaded files, files to install, documents and properties.

const FILE_FOLDER_NAMES = ['upload', 'install', 'document', 'property'] as const;
export type FileFolderName = (typeof FILE_FOLDER_NAMES)[number];

/** CTEs that replace the files of a folder. `from` names a CTE with the dataset's id. */
export function replaceFiles(
  folder: FileFolderName,
  files: readonly FileEntry[],
  from: string,
  parameters: SqlParameters,
): string[] {
  const names = parameters.add(
    files.map((file) => storableText(file.name)),
    'text[]',
  );
  return [
    `dropped_${folder}_files as (
      delete from dataset_file t using ${from} f
      where t.dataset_id = f.dataset_id and t.folder = '${folder}' and t.name <> all (${names}))`,
    insertFiles(folder, files, from, parameters),
  ];
}

/** The CTE that adds files. If two have the same name, the last one wins. */
export function insertFiles(
  folder: FileFolderName,
  files: readonly FileEntry[],
  from: string,
  parameters: SqlParameters,
): string {
  const distinct = new Map(files.map((file) => [storableText(file.name), file]));
  const column = (value: (file: FileEntry) => unknown, type: 'text[]' | 'bigint[]'): string =>
    parameters.add([...distinct.values()].map(value), type);
  const columns = [
    parameters.add([...distinct.keys()], 'text[]'),
    column(({ size }) => size, 'bigint[]'),
    column(({ sha256 }) => sha256 ?? null, 'text[]'),
    column(({ etag }) => etag ?? null, 'text[]'),
  ];
  // Whoever lists the objects of a folder does not know their digests. What is known of an unchanged object stays.
  return `added_${folder}_files as (
    insert into dataset_file as o (dataset_id, folder, name, size, sha256, etag)
    select f.dataset_id, '${folder}', x.name, x.size, decode(x.sha256, 'hex'), x.etag
    from ${from} f, unnest(${columns.join(', ')}) x (name, size, sha256, etag)
    on conflict (dataset_id, folder, name) do update set size = excluded.size, etag = excluded.etag,
      sha256 = coalesce(excluded.sha256, case when o.etag = excluded.etag then o.sha256 end))`;
}

const ARCHIVE_COLUMNS = {
  'import-ready.zip': 'upload_zip',
  'install-ready.zip': 'install_zip',
} as const satisfies Record<ArchiveObject, string>;

/** The columns for the digest of an archive. */
export function archiveColumns(
  object: ArchiveObject,
  { etag, sha256 }: ObjectDigest,
  parameters: SqlParameters,
): Assignments {
  const prefix = ARCHIVE_COLUMNS[object];
  return {
    [`${prefix}_etag`]: parameters.add(etag, 'text'),
    [`${prefix}_sha256`]: `decode(${parameters.add(sha256, 'text')}, 'hex')`,
  };
}
