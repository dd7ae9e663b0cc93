// /datasets/{id}/files/documents|dataset-properties|variable-properties/{file-name}: the files of a dataset one by one
// (docs/contract/installer.md#endpoints). Property files have two paths, the older one of version 1.7.0; both are always
// served.

import { type DataTypes, typeKey } from '../../../engine/model/data-types.ts';
import { fileKey } from '../../../engine/model/object-key.ts';
import type { DatasetQueries, FileDigests, ViewedDataset } from '../../../engine/ports/dataset-queries.ts';
import type { ObjectStore } from '../../../engine/ports/object-store.ts';
import { sendObject } from '../../kernel/answers/download.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { forbidden } from '../../kernel/pipeline/errors.ts';
import { type Route, type RouteParameter, type RouteResponse, refusals } from '../../kernel/pipeline/route.ts';
import { type FileReading, findReadable, findVisible, viewerOf } from '../access.ts';
import { datasetParam } from '../dataset-terms.ts';
import { UploadSlots } from '../uploads/upload-limits.ts';
import { downloadParam, fileNameParam } from './files.ts';
import { DOCUMENTS, type Folder, PROPERTIES, storedName } from './folder.ts';
import { type FolderWriteOptions, noSuchFile, putFile, removeFile } from './folder-writes.ts';

interface FolderOptions extends Omit<FolderWriteOptions, 'slots' | 'maxUploadBytes'>, Pick<FileReading, 'grants'> {
  readonly store: FolderWriteOptions['store'] & Pick<ObjectStore, 'get' | 'head'>;
  readonly queries: Pick<DatasetQueries, 'view' | 'files'> & FileDigests;
  readonly dataTypes: Pick<DataTypes, 'find'>;
  readonly settings: {
    /** Bytes of one file, and of a dataset's documents and property files together. */
    readonly maxUploadBytes: number;
    /** Files that one user may send at once. */
    readonly uploadsPerUser: number;
  };
}

/** One of a folder's paths. */
interface FolderPath {
  readonly folder: Folder;
  readonly segment: string;
  /** Its name in operation ids. */
  readonly id: string;
  readonly query?: Readonly<Record<string, RouteParameter>>;
  readonly accepted: { readonly code: 202 | 204; readonly description: string };
}

const CHANGED = 'The file is stored; the metadata are installed again with it';
const PATHS: readonly FolderPath[] = [
  { folder: DOCUMENTS, segment: 'documents', id: 'Document', accepted: { code: 204, description: 'Stored' } },
  {
    folder: PROPERTIES,
    segment: 'dataset-properties',
    id: 'PropertyFile',
    query: downloadParam,
    accepted: { code: 202, description: CHANGED },
  },
  {
    folder: PROPERTIES,
    segment: 'variable-properties',
    id: 'VariablePropertyFile',
    query: downloadParam,
    accepted: { code: 202, description: CHANGED },
  },
];

export function folderRoutes(options: FolderOptions): readonly Route[] {
  const { maxUploadBytes, uploadsPerUser } = options.settings;
  const writing = { ...options, maxUploadBytes, slots: new UploadSlots(uploadsPerUser) };
  return PATHS.flatMap((path) => [getRoute(options, path), putRoute(writing, path), deleteRoute(writing, path)]);
}

const common = ({ segment }: FolderPath): Pick<Route, 'path' | 'params'> => ({
  path: `/datasets/:id/files/${segment}/:fileName`,
  params: { ...datasetParam, ...fileNameParam },
});

function getRoute(options: FolderOptions, path: FolderPath): Route {
  const { folder, id, query } = path;
  const file = (description: string): RouteResponse => ({ description, contentType: folder.contentType });
  return {
    ...common(path),
    method: 'GET',
    audit: 'download',
    access: 'anyone-known',
    operationId: `get${id}`,
    summary: `Downloads a ${folder.noun}`,
    queryToken: true,
    ...(query ? { query } : {}),
    responses: {
      200: file('The file; Repr-Digest is its SHA-256, if it is known'),
      206: file('The requested range'),
      304: { description: 'Not modified: the caller has the current version' },
      ...refusals({
        403: `${folder === PROPERTIES ? 'The caller may not read the files of this dataset, or the' : 'The'} Admin-Token is wrong`,
        404: 'No such dataset or file',
        410: 'The dataset is deleted, or no longer shared',
        412: 'It is not the version that is asked for',
        416: 'The range is beyond the end',
      }),
    },
    handler: (context) => send(options, folder, context),
  };
}

function putRoute(options: FolderWriteOptions, path: FolderPath): Route {
  const { folder, id, accepted } = path;
  const rule = folder === PROPERTIES ? usesProperties(options.dataTypes) : undefined;
  return {
    ...common(path),
    method: 'PUT',
    access: 'user',
    operationId: `put${id}`,
    summary: `Adds or replaces a ${folder.noun}`,
    body: { description: 'The file', content: { [folder.contentType]: {} } },
    responses: {
      [accepted.code]: { description: accepted.description },
      ...refusals({
        400: 'The name cannot be used, the folder is full, or the body is empty, cut off, larger than is left or not of its digest',
        403: `Not the owner, the dataset was replaced${rule ? ', or its type uses no data property files' : ''}`,
        404: 'No such dataset',
        410: 'The dataset is deleted, or no longer shared',
        415: 'Another type of content',
        429: 'Too many files at once',
      }),
    },
    handler: async (context) => {
      await putFile(options, folder, context, rule);
      context.empty(accepted.code);
    },
  };
}

function deleteRoute(options: FolderWriteOptions, path: FolderPath): Route {
  const { folder, id } = path;
  return {
    ...common(path),
    method: 'DELETE',
    access: 'user',
    operationId: `delete${id}`,
    summary: `Removes a ${folder.noun}`,
    responses: {
      204: { description: 'Removed' },
      ...refusals({
        403: 'Not the owner, or the dataset was replaced',
        404: 'No such dataset or file',
        410: 'The dataset is deleted, or no longer shared',
      }),
    },
    handler: async (context) => {
      await removeFile(options, folder, context);
      context.empty(204);
    },
  };
}

async function send(options: FolderOptions, folder: Folder, context: RequestContext): Promise<void> {
  const { queries, store } = options;
  const id = context.param('id');
  const viewer = viewerOf(context);
  const dataset =
    folder === PROPERTIES
      ? await findReadable(options, id, viewer, 'as seen', context.signal)
      : await findVisible(queries, id, viewer, context.signal);
  const given = context.param('fileName');
  const name = storedName(given);
  const absent = noSuchFile(folder, dataset, given);
  if (name === undefined) throw absent;
  await sendObject(context, store, {
    key: fileKey(dataset, folder.folder, name),
    contentType: folder.contentType,
    fileName: name,
    attachment: context.query.download !== false,
    absent: absent.message,
    digest: () => queries.digest(dataset.dataset, { folder: folder.listed, name }, context.signal),
  });
}

const usesProperties =
  (types: Pick<DataTypes, 'find'>) =>
  ({ metadata: { type } }: ViewedDataset): void => {
    if (!types.find(type)?.usesDataProperties) throw forbidden(`${typeKey(type)} does not use data property files`);
  };
