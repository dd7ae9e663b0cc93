// GET /datasets/{id}/files (docs/contract/installer.md#file-listing): names and sizes of a dataset's files from the cache,
// sizes of its two archives from the object store. Version 1.7.0 has `variableProperties` where 1.8.0 has `datasetProperties`.

import type { Static } from 'typebox';
import type { ApiVersion } from '../../../engine/model/api-version.ts';
import type { ArchiveObject } from '../../../engine/model/digest.ts';
import type { FileEntry } from '../../../engine/model/metadata.ts';
import { objectKey } from '../../../engine/model/object-key.ts';
import type { ImportStatus } from '../../../engine/model/status.ts';
import type {
  DatasetFiles,
  DatasetQueries,
  FileDigests,
  ViewedDataset,
} from '../../../engine/ports/dataset-queries.ts';
import type { ObjectInfo, ObjectStore } from '../../../engine/ports/object-store.ts';
import { sendObject } from '../../kernel/answers/download.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { answer, type Route, type RouteParameter, refusals } from '../../kernel/pipeline/route.ts';
import { type FileReading, findReadable, findVisible, viewerOf } from '../access.ts';
import { datasetParam } from '../dataset-terms.ts';

const FileDetails = Type.Named('FileDetails', {
  fileName: Type.String(),
  fileSize: Type.Integer({ minimum: 0, format: 'int64' }),
});
type FileDetails = Static<typeof FileDetails>;

/** A file of an archive. */
const ArchivedFile = Type.Named('ArchivedFile', {
  fileName: Type.String(),
  fileSize: Type.Integer({ minimum: 0, format: 'int64' }),
  /** Absent if it is not known, as of datasets that were stored before it was kept. */
  sha256: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$' })),
});
type ArchivedFile = Static<typeof ArchivedFile>;

const ZipDetails = Type.Named('ZipDetails', {
  /** -1 before the import, when the size is not known yet. */
  zipSize: Type.Integer({ minimum: -1, format: 'int64' }),
  contents: Type.Array(ArchivedFile),
});

const common = {
  upload: ZipDetails,
  install: Type.Optional(ZipDetails),
  documents: Type.Array(FileDetails),
};

export const FileListing = Type.Named('FileListing', { ...common, datasetProperties: Type.Array(FileDetails) });
export type FileListing = Static<typeof FileListing>;

export const OldFileListing = Type.Named('FileListing17', { ...common, variableProperties: Type.Array(FileDetails) });
export type OldFileListing = Static<typeof OldFileListing>;

/** The answer in either version. */
const AnyFileListing = Type.Union([FileListing, OldFileListing]);

/** import-ready.zip and install-ready.zip as they are stored; undefined when there is none. */
interface StoredZips {
  readonly upload: Pick<ObjectInfo, 'size' | 'etag'> | undefined;
  readonly install: Pick<ObjectInfo, 'size' | 'etag'> | undefined;
}

/** The size of the upload is -1 until its import has ended. `install` is present once the import is complete. */
export function fileListing(
  files: DatasetFiles,
  imported: ImportStatus | undefined,
  zips: StoredZips,
  version: ApiVersion,
): FileListing | OldFileListing {
  const waiting = imported === undefined || imported === 'queued' || imported === 'in-progress';
  const contents = (of: 'upload' | 'install', object: ArchiveObject): readonly ArchivedFile[] => {
    const known = files.archives?.[object];
    return files[of].map(known !== undefined && known.etag === zips[of]?.etag ? archivedView : fileView);
  };
  const upload = {
    zipSize: waiting ? -1 : (zips.upload?.size ?? -1),
    contents: contents('upload', 'import-ready.zip'),
  };
  const install = { zipSize: zips.install?.size ?? -1, contents: contents('install', 'install-ready.zip') };
  const properties = files.properties.map(fileView);
  return {
    upload,
    ...(imported === 'complete' ? { install } : {}),
    documents: files.documents.map(fileView),
    ...(version === '1.7.0' ? { variableProperties: properties } : { datasetProperties: properties }),
  } as FileListing | OldFileListing;
}

function fileView(file: FileEntry): FileDetails {
  return { fileName: file.name, fileSize: file.size };
}

function archivedView({ sha256, ...file }: FileEntry): ArchivedFile {
  return { ...fileView(file), ...(sha256 === undefined ? {} : { sha256 }) };
}

export interface FileSources {
  readonly queries: Pick<DatasetQueries, 'files'>;
  readonly store: Pick<ObjectStore, 'head'>;
}

export async function listFiles(
  sources: FileSources,
  dataset: ViewedDataset,
  version: ApiVersion,
  signal: AbortSignal,
): Promise<FileListing | OldFileListing> {
  const { queries, store } = sources;
  const [files, upload, install] = await Promise.all([
    queries.files(dataset.dataset, signal),
    store.head(objectKey(dataset, 'import-ready.zip'), signal),
    store.head(objectKey(dataset, 'install-ready.zip'), signal),
  ]);
  return fileListing(files, dataset.import?.status, { upload, install }, version);
}

interface FilesOptions extends FileSources {
  readonly queries: FileSources['queries'] & Pick<DatasetQueries, 'view'>;
}

export function filesRoute(options: FilesOptions): Route {
  return {
    method: 'GET',
    audit: 'none',
    path: '/datasets/:id/files',
    access: 'anyone-known',
    operationId: 'listDatasetFiles',
    summary: 'Lists the files of a dataset',
    params: datasetParam,
    responses: {
      200: answer('Files of the upload, of the install, documents and property files', AnyFileListing),
      ...refusals({ 403: 'The Admin-Token is wrong', 404: 'No such dataset', 410: 'Deleted, or no longer shared' }),
    },
    handler: (context) => files(options, context),
  };
}

async function files(options: FilesOptions, context: RequestContext): Promise<void> {
  const { signal, version } = context;
  const dataset = await findVisible(options.queries, context.param('id'), viewerOf(context), signal);
  await context.json(200, await listFiles(options, dataset, version, signal));
}

/** A path parameter of the routes for one file of a dataset. */
export const fileNameParam: Readonly<Record<'fileName', RouteParameter>> = {
  fileName: {
    description: 'File name without / and \\, at most 255 bytes',
    schema: { ...Type.String({ minLength: 1, maxLength: 255 }) },
  },
};

export const downloadParam: Readonly<Record<'download', RouteParameter>> = {
  download: {
    description: 'If false, browsers show the file instead of saving it',
    schema: { ...Type.Boolean({ default: true }) },
  },
};

// GET /datasets/{id}/files/upload and .../install: the two archives of a dataset, as they are stored.

interface DownloadsOptions extends FileReading {
  readonly queries: FileReading['queries'] & FileDigests;
  readonly store: Pick<ObjectStore, 'get' | 'head'>;
}

interface Archive {
  readonly path: 'upload' | 'install';
  readonly object: ArchiveObject;
  /** The file name is the dataset's id and this. */
  readonly suffix: string;
  readonly operationId: string;
  readonly summary: string;
  readonly absent: string;
}

const ARCHIVES: readonly Archive[] = [
  {
    path: 'upload',
    object: 'import-ready.zip',
    suffix: 'upload',
    operationId: 'downloadUpload',
    summary: 'Downloads the uploaded files',
    absent: 'the upload is not processed yet',
  },
  {
    path: 'install',
    object: 'install-ready.zip',
    suffix: 'data',
    operationId: 'downloadInstall',
    summary: 'Downloads the installed files',
    absent: 'the dataset is not imported',
  },
];

export function downloadRoutes(options: DownloadsOptions): readonly Route[] {
  return ARCHIVES.map((archive) => ({
    method: 'GET',
    audit: 'download',
    path: `/datasets/:id/files/${archive.path}`,
    access: 'anyone-known',
    operationId: archive.operationId,
    summary: archive.summary,
    queryToken: true,
    params: datasetParam,
    responses: {
      200: { description: 'The archive; Repr-Digest is its SHA-256, if it is known', contentType: 'application/zip' },
      206: { description: 'The requested range', contentType: 'application/zip' },
      304: { description: 'Not modified: the caller has the current version' },
      ...refusals({
        403: 'The caller may not read the files of this dataset, or the Admin-Token is wrong',
        404: 'No such dataset, or nothing to download yet',
        412: 'It is not the version that is asked for',
        416: 'The range is beyond the end',
      }),
    },
    handler: (context) => download(options, archive, context),
  }));
}

async function download(options: DownloadsOptions, archive: Archive, context: RequestContext): Promise<void> {
  const dataset = await findReadable(options, context.param('id'), viewerOf(context), 404, context.signal);
  await sendObject(context, options.store, {
    key: objectKey(dataset, archive.object),
    contentType: 'application/zip',
    fileName: `${dataset.dataset}-${archive.suffix}.zip`,
    absent: `dataset ${dataset.dataset} has no such file: ${archive.absent}`,
    digest: () => options.queries.digest(dataset.dataset, { archive: archive.object }, context.signal),
  });
}
