// The files of a dataset, and the digests of their objects, in the cache database.

import type { ArchiveObject } from '../../model/digest.ts';
import type { DatasetId } from '../../model/ids.ts';
import type { FileEntry } from '../../model/metadata.ts';
import type { ObjectDigest } from '../../ports/catalog.ts';
import type { DatasetFiles, DigestedFile } from '../../ports/dataset-queries.ts';
import type { FileFolderName } from '../catalog/dataset-document.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { storableText } from '../postgres/sql-parameters.ts';

const ARCHIVES = `
  select x.name, encode(x.sha256, 'hex') as sha256, x.etag from dataset d, lateral (values
    ('import-ready.zip', d.upload_zip_sha256, d.upload_zip_etag),
    ('install-ready.zip', d.install_zip_sha256, d.install_zip_etag)) x (name, sha256, etag)
  where d.dataset_id = $1 and x.sha256 is not null`;

const FILES = `
  select * from (
    select f.folder, f.name, f.size, encode(f.sha256, 'hex') as sha256, f.etag
    from dataset_file f join dataset d on d.dataset_id = f.dataset_id
    where f.dataset_id = $1 and (f.folder <> 'install' or d.import_status = 'complete')
    union all select 'archive', a.name, 0, a.sha256, a.etag from (${ARCHIVES}) a) f
  order by f.folder, f.name collate "C"`;

const ARCHIVE_DIGEST = `select a.sha256, a.etag from (${ARCHIVES}) a where a.name = $2`;
const FILE_DIGEST = `
  select encode(f.sha256, 'hex') as sha256, f.etag from dataset_file f
  where f.dataset_id = $1 and f.folder = $2 and f.name = $3 and f.sha256 is not null and f.etag is not null`;

type FileRow = Pick<FileEntry, 'size'> & { readonly sha256: string | null; readonly etag: string | null } & (
    | { readonly folder: FileFolderName; readonly name: string }
    | { readonly folder: 'archive'; readonly name: ArchiveObject }
  );

type Database = Pick<Postgres, 'query'>;

export async function datasetFiles(db: Database, dataset: DatasetId, signal: AbortSignal): Promise<DatasetFiles> {
  signal.throwIfAborted();
  const rows = await db.query<FileRow>(FILES, [dataset], 'dataset-files');
  // Those of documents and property files count only for a version of the object, which nobody looks at here.
  const plain = (folder: FileFolderName): FileEntry[] =>
    rows.filter((row) => row.folder === folder).map(({ name, size }) => ({ name, size }));
  const digested = (folder: FileFolderName): FileEntry[] =>
    rows
      .filter((row) => row.folder === folder)
      .map(({ name, size, sha256 }) => (sha256 === null ? { name, size } : { name, size, sha256 }));
  const archives = rows.flatMap(({ folder, name, sha256, etag }) =>
    folder === 'archive' && sha256 !== null && etag !== null ? [[name, { etag, sha256 }] as const] : [],
  );
  return {
    upload: digested('upload'),
    install: digested('install'),
    documents: plain('document'),
    properties: plain('property'),
    ...(archives.length > 0 ? { archives: Object.fromEntries(archives) } : {}),
  };
}

/** Of one file. Undefined if it is not known. */
export async function fileDigest(
  db: Database,
  dataset: DatasetId,
  file: DigestedFile,
  signal: AbortSignal,
): Promise<ObjectDigest | undefined> {
  signal.throwIfAborted();
  const [row] =
    'archive' in file
      ? await db.query<ObjectDigest>(ARCHIVE_DIGEST, [dataset, file.archive], 'archive-digest')
      : await db.query<ObjectDigest>(
          FILE_DIGEST,
          [dataset, file.folder === 'documents' ? 'document' : 'property', storableText(file.name)],
          'file-digest',
        );
  return row;
}
