// GET /datasets/{id}/files/vdi-meta.json and .../upload-error.json: two documents of the object store, without what is
// ours alone. Whoever sees the file listing sees them.

import { buffer } from 'node:stream/consumers';
import { create as contentDisposition } from 'content-disposition';
import { parseJson } from '../../../engine/model/json.ts';
import { parseUploadError } from '../../../engine/model/metadata.ts';
import { objectKey } from '../../../engine/model/object-key.ts';
import { STORED_VISIBILITIES, UPLOAD_STATUSES } from '../../../engine/model/status.ts';
import { decodeDocument } from '../../../engine/model/utf8.ts';
import type { DatasetQueries } from '../../../engine/ports/dataset-queries.ts';
import type { ObjectStore, OpenObject } from '../../../engine/ports/object-store.ts';
import { defect, messageOf } from '../../../engine/runtime/failure.ts';
import { Type, UserIdOutput } from '../../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { notFound } from '../../kernel/pipeline/errors.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import { findVisible, viewerOf } from '../access.ts';
import { datasetParam, InstallTargetIds } from '../dataset-terms.ts';
import { showsPeople } from '../people.ts';
import { downloadParam } from './files.ts';

// Documents of the object store as they are shown: with the field names that existing buckets rely on.

/** The fields that every document has, besides whatever the owner entered. */
const StoredMetadata = Type.Named(
  'StoredMetadata',
  {
    type: Type.Object({ name: Type.String(), version: Type.String() }),
    installTargets: Type.Optional(InstallTargetIds),
    visibility: Type.Optional(Type.Enum([...STORED_VISIBILITIES])),
    owner: UserIdOutput,
    name: Type.String(),
  },
  { additionalProperties: true },
);

const StoredUploadError = Type.Named('StoredUploadError', {
  status: Type.Enum(UPLOAD_STATUSES.filter((status) => status === 'rejected' || status === 'failed')),
  message: Type.String(),
});

interface StoredDocumentOptions {
  readonly queries: Pick<DatasetQueries, 'view'>;
  readonly store: Pick<ObjectStore, 'get'>;
}

interface StoredDocument {
  /** Its name in the path. */
  readonly name: string;
  readonly object: 'vdi-meta.json' | 'upload-error.json';
  readonly operationId: string;
  readonly summary: string;
  readonly schema: typeof StoredMetadata | typeof StoredUploadError;
  /** The part of the document that is shown; throws when it is not a document of this kind. */
  readonly shown: (text: string, people: boolean) => object;
  readonly absent: string;
}

/** A document larger than this is not one of ours. */
const MAX_BYTES = 16 * 1024 * 1024;

const UPLOAD_ERROR: StoredDocument = {
  name: 'upload-error.json',
  object: 'upload-error.json',
  operationId: 'getUploadError',
  summary: 'Shows why the upload was rejected',
  schema: StoredUploadError,
  // Documents of compatible systems contain stack traces, so only known fields are shown.
  shown: (text) => parseUploadError(text, 'upload-error.json'),
  absent: 'its upload did not fail',
};

const DOCUMENTS: readonly StoredDocument[] = [
  {
    name: 'vdi-meta.json',
    object: 'vdi-meta.json',
    operationId: 'getStoredMetadata',
    summary: 'Shows the metadata as stored',
    schema: StoredMetadata,
    shown: (text, people) => {
      const { firstPublished: _ours, contacts, ...rest } = parseJson(text) as Record<string, unknown>;
      return people && contacts !== undefined ? { ...rest, contacts } : rest;
    },
    absent: 'its metadata are not stored yet',
  },
  UPLOAD_ERROR,
  // Some documentation of deployed services uses this name.
  {
    ...UPLOAD_ERROR,
    name: 'upload-errors.json',
    operationId: 'getUploadErrors',
    summary: 'Alias of upload-error.json for older clients',
  },
];

export function storedDocumentRoutes(options: StoredDocumentOptions): readonly Route[] {
  return DOCUMENTS.map((document) => ({
    method: 'GET',
    audit: 'download',
    path: `/datasets/:id/files/${document.name}`,
    access: 'anyone-known',
    operationId: document.operationId,
    summary: document.summary,
    queryToken: true,
    params: datasetParam,
    query: downloadParam,
    responses: {
      200: answer('The document', document.schema),
      304: { description: 'Not modified: the caller has the current version' },
      ...refusals({
        403: 'The Admin-Token is wrong',
        404: 'No such dataset or document',
        410: 'The dataset is deleted, or no longer shared',
      }),
    },
    handler: (context) => show(options, document, context),
  }));
}

async function show(
  { queries, store }: StoredDocumentOptions,
  { object, shown, absent }: StoredDocument,
  context: RequestContext,
): Promise<void> {
  const { signal } = context;
  const dataset = await findVisible(queries, context.param('id'), viewerOf(context), signal);
  const opened = await store.get(objectKey(dataset, object), undefined, signal);
  if (!opened) throw notFound(`dataset ${dataset.dataset} has no ${object}: ${absent}`);
  const text = await read(opened);
  const type = context.query.download === false ? 'inline' : 'attachment';
  const people = showsPeople(dataset.metadata, context.caller.kind === 'guest');
  await context.json(
    200,
    parsed(text, opened.info.key, (of) => shown(of, people)),
    {
      // A guest gets another document than a user.
      etag: `"${opened.info.etag}${people ? '' : '.guest'}"`,
      'last-modified': opened.info.modified.toUTCString(),
      'content-disposition': contentDisposition(object, { type }),
    },
  );
}

async function read({ info, body }: OpenObject): Promise<string> {
  if (info.size > MAX_BYTES) {
    body.on('error', () => undefined).destroy();
    throw defect(`${info.key}: ${info.size} bytes are too many for such a document`);
  }
  const text = decodeDocument(await buffer(body));
  if (text === undefined) throw defect('a stored document is not UTF-8');
  return text;
}

/** A document that cannot be read is a defect, not the client's error. */
function parsed(text: string, key: string, shown: (text: string) => object): object {
  try {
    return shown(text);
  } catch (cause) {
    throw defect(`${key} cannot be shown: ${messageOf(cause)}`, { cause });
  }
}
