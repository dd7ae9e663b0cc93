// The handler job service over HTTP (docs/contract/handler.md#endpoints).

import { create as contentDisposition } from 'content-disposition';
import { sha256Field } from '../../engine/model/digest.ts';
import { HANDLER_STATUS, handlerResultKey } from '../../engine/model/handler-job.ts';
import type { HandlerCounter, JobEnd } from '../../engine/ports/handler-jobs.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import { transient } from '../../engine/runtime/failure.ts';
import { sendObject } from '../kernel/answers/download.ts';
import { sendBody } from '../kernel/answers/sending.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { HttpError, notFound } from '../kernel/pipeline/errors.ts';
import type { HealthReport } from '../kernel/pipeline/ops.ts';
import type { Route, RouteResponse } from '../kernel/pipeline/route.ts';
import {
  type HandlerOptions,
  HEALTH_SCHEMA,
  healthDocument,
  INVALID_SCHEMA,
  METADATA_SCHEMA,
  OPTIONS_SCHEMA,
  optionsDocument,
  PROBLEM_SCHEMA,
  SERVER_ERROR_SCHEMA,
  STATUS_SCHEMA,
  statusDocument,
} from './documents.ts';
import type { HandlerService } from './handler-service.ts';
import { invalidJob, readRegistration } from './registration.ts';
import { badFormat, FORM, UPLOAD_TYPES } from './upload-body.ts';

interface HandlerRoutesParts {
  readonly service: HandlerService;
  readonly options: HandlerOptions;
  /** The token required by `/job/*`; absent = none is required. */
  readonly token?: string | undefined;
  /** Ids of the configured install targets. */
  readonly projects: ReadonlySet<string>;
  readonly store: Pick<ObjectStore, 'get' | 'head'>;
  readonly health: () => Promise<HealthReport>;
  readonly statistics: HandlerCounter;
}

const problem = (description: string, schema: object = PROBLEM_SCHEMA): RouteResponse => ({ description, schema });
const PACKAGE: RouteResponse = {
  description: 'The packed result; Repr-Digest is its SHA-256, if it is known',
  contentType: 'application/binary',
};
const SERVER_ERROR = problem('The job or the service failed', SERVER_ERROR_SCHEMA);
const COMMON = {
  401: problem('The service token is missing or wrong'),
  403: problem('Sent by a page of another origin'),
  429: problem(
    "The owner's jobs have their share of the places, results as large as may be kept, or too many wrong tokens came; see Retry-After",
  ),
  503: problem(
    'All places are taken, something cannot be reached just now, or the service is stopping; see Retry-After',
    SERVER_ERROR_SCHEMA,
  ),
};
const ARCHIVE = { type: 'string', contentMediaType: 'application/octet-stream' };
const FORM_SCHEMA = { type: 'object', properties: { file: ARCHIVE }, required: ['file'] };
const NO_JOB = problem('There is no job with this id');

export function handlerRoutes(parts: HandlerRoutesParts): readonly Route[] {
  const { service, statistics, projects } = parts;
  const about = optionsDocument(parts.options);
  const templates = parts.options.commands.flatMap((command) => command.arguments);
  const jobId = { description: 'Chosen by the caller', schema: { type: 'string', minLength: 1, maxLength: 128 } };
  const job = (route: Omit<Route, 'access' | 'params'>): Route => ({
    ...route,
    access: 'open',
    token: { secret: parts.token, host: 'the handler service', machine: 'handler token' },
    params: { jobId },
    responses: { ...route.responses, ...COMMON },
  });
  const routes: readonly Route[] = [
    {
      method: 'GET',
      audit: 'none',
      path: '/config',
      access: 'open',
      operationId: 'getConfig',
      summary: 'Shows the options of this service',
      responses: { 200: { description: 'Options', schema: OPTIONS_SCHEMA } },
      handler: (context) => context.json(200, about),
    },
    {
      method: 'GET',
      audit: 'none',
      path: '/health',
      access: 'open',
      operationId: 'getHealth',
      summary: 'Shows health and job statistics',
      responses: { 200: { description: 'Health', schema: HEALTH_SCHEMA }, 500: SERVER_ERROR },
      handler: (context) => tellHealth(context, parts),
    },
    job({
      method: 'PUT',
      path: '/job/:jobId',
      operationId: 'putJob',
      summary: 'Registers a job',
      body: { description: 'Job metadata', content: { 'application/json': METADATA_SCHEMA } },
      responses: {
        204: { description: 'Registered' },
        400: problem('The body or the id cannot be read'),
        409: problem('A job with this id is running'),
        422: problem('The job metadata is not valid', INVALID_SCHEMA),
        500: SERVER_ERROR,
      },
      handler: async (context) => {
        const registration = await readRegistration(context.request, projects, templates);
        await service.register(context.param('jobId'), registration, context.signal);
        context.empty(204);
      },
    }),
    job({
      method: 'POST',
      path: '/job/:jobId',
      operationId: 'postJob',
      summary: 'Uploads the dataset of a job, runs it and returns the result',
      body: {
        description: 'A .zip, .tar.gz or .tgz archive, at most 524288000 bytes; in a form as part `file`',
        content: Object.fromEntries(UPLOAD_TYPES.map((type) => [type, type === FORM ? FORM_SCHEMA : ARCHIVE])),
      },
      responses: {
        200: PACKAGE,
        400: problem('The upload is refused'),
        404: NO_JOB,
        409: problem('The job is not waiting for an upload'),
        422: problem('A command rejected the data', INVALID_SCHEMA),
        500: SERVER_ERROR,
      },
      handler: (context) => runJob(context, parts),
    }),
    job({
      method: 'GET',
      audit: 'none',
      path: '/job/:jobId/status',
      operationId: 'getJobStatus',
      summary: 'Shows the status of a job',
      responses: { 200: { description: 'Job status', schema: STATUS_SCHEMA }, 404: NO_JOB, 500: SERVER_ERROR },
      handler: async (context) => {
        const found = await service.find(context.param('jobId'), context.signal);
        await context.json(200, statusDocument(found, service.now()));
      },
    }),
    job({
      method: 'GET',
      audit: 'download',
      path: '/job/:jobId/result',
      operationId: 'getJobResult',
      summary: 'Returns the result of a completed job again',
      responses: {
        200: PACKAGE,
        206: { ...PACKAGE, description: 'The requested range' },
        304: { description: 'Not modified: the caller has the current version' },
        404: problem('No such job, or it has no result, or the result has expired'),
        412: problem('The result differs from the one that the caller expects'),
        416: problem('The range is beyond the end'),
        500: SERVER_ERROR,
      },
      handler: (context) => sendResult(context, parts),
    }),
  ];
  return routes.map((route) => counted(route, statistics));
}

/** Counts every response, including errors. */
const counted = (route: Route, statistics: HandlerCounter): Route => ({
  ...route,
  handler: (context) => {
    const { response } = context;
    response.once('finish', () => statistics.responded(response.statusCode));
    return route.handler(context);
  },
});

async function tellHealth(context: RequestContext, { health, statistics }: HandlerRoutesParts): Promise<void> {
  const report = await health();
  const counts = await statistics.read(context.signal).catch((cause: unknown) => {
    throw new HttpError('server-error', 'cache-db: the statistics cannot be read', { cause });
  });
  await context.json(200, healthDocument(report, counts));
}

async function runJob(context: RequestContext, { service, store }: HandlerRoutesParts): Promise<void> {
  const { request, traceparent, signal } = context;
  const { job, end } = await service.upload(context.param('jobId'), request, traceparent, signal);
  switch (end.kind) {
    case 'completed':
      return answerPackage(context, store, job.id, end);
    case 'refused':
      throw badFormat(end.message);
    case 'user-error':
      throw invalidJob(end.message, [end.message]);
    case 'failed':
      throw new HttpError('server-error', end.message);
    default:
      return end satisfies never;
  }
}

async function answerPackage(
  context: RequestContext,
  store: Pick<ObjectStore, 'get'>,
  id: string,
  { fileName, digest }: JobEnd & { readonly kind: 'completed' },
): Promise<void> {
  const { response, signal } = context;
  const opened = await store.get(handlerResultKey(id), undefined, signal);
  if (!opened) throw transient(`the result of job ${id} is not there any more`);
  if (opened.info.etag === digest.etag) response.setHeader('repr-digest', sha256Field(digest.sha256));
  response.writeHead(200, {
    'content-type': 'application/binary',
    'content-length': opened.info.size,
    'content-disposition': contentDisposition(fileName),
    'cache-control': 'no-store',
  });
  await sendBody(opened, response, signal);
}

async function sendResult(context: RequestContext, { service, store }: HandlerRoutesParts): Promise<void> {
  const jobId = context.param('jobId');
  const { id, state, result } = await service.find(jobId, context.signal);
  if (state !== 'completed') throw notFound(`job '${jobId}' has no result: its status is '${HANDLER_STATUS[state]}'`);
  const absent = `the result of job '${jobId}' was removed after its time`;
  if (!result || result.expires <= service.now()) throw notFound(absent);
  await sendObject(context, store, {
    key: handlerResultKey(id),
    contentType: 'application/binary',
    fileName: result.fileName,
    absent,
    digest: async () => result.digest,
  });
}
