// The routes of resumable uploads: the tus protocol 1.0 with the extensions creation, creation-with-upload, checksum, expiration
// and termination (docs/resumable-uploads.md). The field `uploadIds` of POST and PUT of a dataset makes data files of these uploads.
// GET of an upload is our extension. The protocol has only HEAD, which is served by the same route.

import type { ResumableUpload } from '../../../../engine/ports/resumable-uploads.ts';
import { Type } from '../../../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../../../kernel/pipeline/context.ts';
import { HttpError } from '../../../kernel/pipeline/errors.ts';
import type { Fingerprint } from '../../../kernel/pipeline/fingerprint.ts';
import { answer, type Route, type RouteParameter, refusals } from '../../../kernel/pipeline/route.ts';
import { Datetime } from '../../dataset-terms.ts';
import type { ResumableIntake } from './resumable-intake.ts';
import { CHECKSUM_ALGORITHMS, httpDate, OFFSET_TYPE, tusHeaders } from './tus-headers.ts';

const Bytes = Type.Integer({ minimum: 0, format: 'int64' });
export const UploadIdText = Type.String({ pattern: '^[0-9a-f]{32}$' });
const Resumable = Type.Named('ResumableUpload', {
  uploadId: UploadIdText,
  fileName: Type.String(),
  length: Bytes,
  offset: Bytes,
  expires: Datetime,
});

const header = (description: string, required = false): RouteParameter => ({
  ...{ description, required },
  schema: { type: 'string' },
});
const VERSION = { 'Tus-Resumable': header('Version of the protocol: 1.0.0', true) };
const OFFSET = { 'Upload-Offset': header('Bytes that the upload has: where those of the body begin', true) };
const CHECKSUM = {
  'Upload-Checksum': header(`Of the body: ${CHECKSUM_ALGORITHMS.join(' or ')}, a space, the digest in Base64`),
};
const params = { id: { description: 'Id of the upload', schema: UploadIdText } };
const BODY = { description: 'Bytes of the file', content: { [OFFSET_TYPE]: {} } };

const NONE = { 404: 'The caller has no such upload', 412: 'Tus-Resumable is not 1.0.0' };
const CHANGED = { ...NONE, 410: 'The upload has expired', 423: 'Another request changes the upload' };
const APPENDED = {
  ...CHANGED,
  400: 'A header is not understood',
  409: 'Upload-Offset is not what the upload has; the response has the right one',
  413: 'The body is longer than what is left of the upload',
  415: `The body is not ${OFFSET_TYPE}`,
  429: 'Too many uploads at once',
  460: 'The body does not have the checksum of Upload-Checksum; nothing of it is kept',
};

export function resumableRoutes(intake: ResumableIntake, maxUploadBytes: number): readonly Route[] {
  const own = { access: 'user', standing: tusHeaders(maxUploadBytes) } as const;
  const append = async (context: RequestContext): Promise<void> => {
    const { offset, expiresMs } = await intake.append(context);
    context.empty(204, { 'upload-offset': String(offset), 'upload-expires': httpDate(expiresMs), ...UNCACHED });
  };
  const terminate = async (context: RequestContext): Promise<void> => {
    await intake.terminate(context);
    context.empty(204);
  };
  return [
    {
      ...own,
      method: 'GET',
      audit: 'none',
      path: '/uploads',
      operationId: 'listResumableUploads',
      summary: "Lists the caller's resumable uploads of which no dataset was made yet",
      responses: {
        200: answer('The uploads, oldest first', Type.Array(Resumable)),
        ...refusals({ 403: 'Guests cannot upload' }),
      },
      handler: async (context) => context.json(200, (await intake.list(context.userId, context.signal)).map(shown)),
    },
    {
      ...own,
      keyed: true,
      method: 'POST',
      path: '/uploads',
      operationId: 'createResumableUpload',
      summary: 'Creates a resumable upload (tus)',
      headers: {
        ...VERSION,
        'Upload-Length': header('Bytes of the file', true),
        'Upload-Metadata': header("Pairs of key and Base64, with commas between; 'filename' is required", true),
        'Repr-Digest': header('SHA-256 of the whole file (RFC 9530), which is checked when all of it has come', false),
        ...CHECKSUM,
      },
      body: { ...BODY, description: 'The first bytes of the file, or nothing' },
      responses: {
        201: { description: 'Created; Location is the URL to send the bytes to' },
        ...refusals({
          400: 'A header is not understood, or the storage quota has no room',
          403: 'Guests cannot upload',
          412: NONE[412],
          413: 'The file is larger than an upload may be',
          429: 'Too many resumable uploads, or too many uploads at once',
          460: APPENDED[460],
        }),
      },
      handler: (context) => {
        const read = async (print: Fingerprint): Promise<void> => intake.print(context, print);
        return context.once(read, (keyed) => {
          if (keyed) intake.print(context, keyed.print);
          return intake.create(context, keyed);
        });
      },
    },
    {
      ...own,
      method: 'GET',
      audit: 'none',
      path: '/uploads/:id',
      params,
      operationId: 'getResumableUpload',
      summary: 'How much of a resumable upload was received; HEAD as tus has it',
      responses: { 200: answer('The upload', Resumable), ...refusals({ 403: 'Guests cannot upload', ...CHANGED }) },
      handler: async (context) => showUpload(context, intake),
    },
    {
      ...own,
      method: 'PATCH',
      path: '/uploads/:id',
      params,
      operationId: 'continueResumableUpload',
      summary: 'Continues a resumable upload (tus)',
      headers: { ...VERSION, ...OFFSET, ...CHECKSUM },
      body: BODY,
      responses: {
        204: { description: 'Upload-Offset says how many bytes the upload has now; they are durable' },
        ...refusals({ 403: 'Guests cannot upload', ...APPENDED }),
      },
      handler: append,
    },
    {
      ...own,
      method: 'DELETE',
      path: '/uploads/:id',
      params,
      operationId: 'terminateResumableUpload',
      summary: 'Removes a resumable upload, and frees the quota that it reserves (tus)',
      headers: VERSION,
      responses: { 204: { description: 'Removed' }, ...refusals({ 403: 'Guests cannot upload', ...CHANGED }) },
      handler: terminate,
    },
    {
      ...own,
      method: 'POST',
      path: '/uploads/:id',
      params,
      operationId: 'overrideResumableUpload',
      summary: 'PATCH, DELETE or HEAD of clients that can send only POST; X-HTTP-Method-Override says which (tus)',
      headers: {
        ...VERSION,
        'X-HTTP-Method-Override': {
          description: 'The method',
          required: true,
          schema: { enum: ['PATCH', 'DELETE', 'HEAD'] },
        },
        'Upload-Offset': { ...OFFSET['Upload-Offset'], required: false },
        ...CHECKSUM,
      },
      body: BODY,
      responses: {
        200: { description: 'As HEAD answers' },
        204: { description: 'As PATCH and DELETE answer' },
        ...refusals({ 403: 'Guests cannot upload', ...APPENDED, 405: 'Not one of these methods' }),
      },
      handler: async (context) => {
        switch (context.request.headers['x-http-method-override']) {
          case 'PATCH':
            return append(context);
          case 'DELETE':
            return terminate(context);
          case 'HEAD':
            return context.empty(200, headOf(await intake.settled(context)));
          default:
            throw new HttpError('bad-method', 'header X-HTTP-Method-Override must be PATCH, DELETE or HEAD');
        }
      },
    },
  ];
}

const UNCACHED = { 'cache-control': 'no-store' };

async function showUpload(context: RequestContext, intake: ResumableIntake): Promise<void> {
  if (!context.wantsBody) return context.empty(200, headOf(await intake.settled(context)));
  const upload = await intake.find(context);
  return context.json(200, shown(upload), headOf(upload));
}

function headOf(upload: ResumableUpload): Readonly<Record<string, string>> {
  return {
    'upload-offset': String(upload.offset),
    'upload-length': String(upload.length),
    'upload-metadata': upload.metadata,
    'upload-expires': httpDate(upload.expiresMs),
    ...UNCACHED,
  };
}

const shown = ({ id, fileName, length, offset, expiresMs }: ResumableUpload): object => ({
  ...{ uploadId: id, fileName, length, offset },
  expires: new Date(expiresMs).toISOString(),
});
