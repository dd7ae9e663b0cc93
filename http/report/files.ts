// The files of a complete job, and the formatter's standard error. They contain sequence names that strangers chose, so a
// browser must not execute anything in them.

import type { ServerResponse } from 'node:http';
import { create as contentDisposition } from 'content-disposition';
import { mediaTypeOf } from '../../engine/model/report/command-line.ts';
import { type ReportFile, reportFileKey } from '../../engine/model/report/report-job.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type { ReportJob } from '../../engine/ports/report-jobs.ts';
import { sendObject } from '../kernel/answers/download.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { forbidden, notFound } from '../kernel/pipeline/errors.ts';
import { answer, type Route, type RouteParameter, refusals } from '../kernel/pipeline/route.ts';
import { findJob, hasNoFiles, jobParam, type LookupParts } from './job-lookup.ts';
import { FileList } from './schema.ts';

export interface FilesParts extends LookupParts {
  readonly store: Pick<ObjectStore, 'get' | 'head'>;
}

const ABSENT = 'There is no such job';
const NOT_COMPLETE = 'The job is not complete, or has expired';

const download: Readonly<Record<string, RouteParameter>> = {
  download: {
    description: 'If true, the response is an attachment (Content-Disposition)',
    schema: { type: 'boolean', default: false },
  },
};

export function fileRoutes(parts: FilesParts): readonly Route[] {
  const access = 'user-or-guest';
  return [
    {
      method: 'GET',
      audit: 'none',
      path: '/jobs/:id/files',
      access,
      operationId: 'listReportFiles',
      summary: 'Lists the files of a complete job, including report.zip with all of them',
      params: jobParam,
      responses: {
        200: answer('The files', FileList),
        304: { description: 'Not modified: the caller has the current version' },
        ...refusals({ 403: NOT_COMPLETE, 404: ABSENT }),
      },
      handler: async (context) => {
        const job = await findJob(context, parts);
        await context.jsonList(filesOf(job, parts, context.signal));
      },
    },
    {
      method: 'GET',
      audit: 'download',
      path: '/jobs/:id/files/:fileName',
      access,
      operationId: 'downloadReportFile',
      summary: 'Downloads a file of a complete job',
      queryToken: true,
      params: { ...jobParam, fileName: { description: 'File name from the list', schema: { type: 'string' } } },
      query: download,
      responses: {
        200: {
          description: 'The file, in the media type of its format; Repr-Digest is its SHA-256, if it is known',
          contentType: '*/*',
        },
        206: { description: 'The requested range', contentType: '*/*' },
        304: { description: 'Not modified: the caller has the current version' },
        ...refusals({
          403: NOT_COMPLETE,
          404: 'There is no such job, or it has no such file',
          412: 'The file is another one than the caller wants',
          416: 'The range is beyond the end',
        }),
      },
      handler: (context) => sendFile(context, parts),
    },
    {
      method: 'GET',
      audit: 'download',
      path: '/jobs/:id/stderr',
      access,
      operationId: 'getReportStderr',
      summary: "Shows the formatter's error output; its last line says why a failed job failed",
      queryToken: true,
      params: jobParam,
      query: download,
      responses: {
        200: { description: 'The text', contentType: 'text/plain' },
        ...refusals({ 403: 'The job has not ended, or has expired', 404: ABSENT }),
      },
      handler: (context) => sendStderr(context, parts),
    },
  ];
}

/** A complete job has files. If there are none, the job has just expired. */
async function* filesOf(job: ReportJob, { jobs }: FilesParts, signal: AbortSignal): AsyncGenerator<ReportFile> {
  if (job.status !== 'complete') throw hasNoFiles(job);
  let known = false;
  for await (const { name, size } of jobs.files(job.id, signal)) {
    known = true;
    yield { name, size };
  }
  if (!known) throw hasNoFiles({ id: job.id, status: 'expired' });
}

async function sendFile(context: RequestContext, parts: FilesParts): Promise<void> {
  const { jobs, store } = parts;
  const { query, response, signal } = context;
  const job = await findJob(context, parts);
  if (job.status !== 'complete') throw hasNoFiles(job);
  const { id, attempt, configuration } = job;
  const fileName = context.param('fileName');
  const absent = `report job ${id} has no file '${fileName}'`;
  // Only files in this list may be read. The store may hold other objects of the job.
  const file = await jobs.file(id, fileName, signal);
  if (!file) throw notFound(absent);
  const attachment = query.download === true;
  if (!attachment) makeInert(response);
  await sendObject(context, store, {
    key: reportFileKey(id, attempt, file.name),
    contentType: mediaTypeOf(configuration.formatType, file.name) ?? 'application/octet-stream',
    fileName: file.name,
    attachment: attachment || 'unsaid',
    absent,
    digest: async () => file.digest,
  });
}

async function sendStderr(context: RequestContext, parts: FilesParts): Promise<void> {
  const { query, response, signal } = context;
  const { id, status } = await findJob(context, parts);
  const text = await parts.jobs.stderr(id, signal);
  if (text === undefined) throw forbidden(`report job ${id} is ${status}; only one that has ended tells what was said`);
  if (query.download === true) response.setHeader('content-disposition', contentDisposition(`${id}-stderr.txt`));
  else makeInert(response);
  response.setHeader('cache-control', 'private, no-cache');
  context.text(200, 'text/plain; charset=utf-8', text);
}

/** Adds `sandbox` to the policy of every response. */
function makeInert(response: ServerResponse): void {
  response.setHeader('content-security-policy', `sandbox; ${response.getHeader('content-security-policy')}`);
}
