// GET /admin/logs: the recent log of one dataset or one request, of the process that answers.

import type { Static } from 'typebox';
import type { FoundLog, LogSubject } from '../../../engine/runtime/recent-log.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { badRequest } from '../../kernel/pipeline/errors.ts';
import type { Query } from '../../kernel/pipeline/query.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import { ADMIN_REFUSALS } from './admin-route.ts';

const LogReport = Type.Named('LogReport', {
  results: Type.Array(
    Type.Named('LogRecord', {
      time: Type.String({ format: 'date-time' }),
      level: Type.String(),
      message: Type.String({ description: 'Constant; what varies is in the fields' }),
      fields: Type.Record(Type.String(), Type.Unknown()),
    }),
    { description: 'The oldest first' },
  ),
  cut: Type.Boolean({ description: 'Whether older records about it were left out' }),
  since: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'Of the oldest record that is kept, about any dataset or request; absent = none is kept',
    }),
  ),
});
type LogReport = Static<typeof LogReport>;

export interface RecentLogs {
  /** Secrets are hidden. */
  find(subject: LogSubject, limit: number): FoundLog;
}

interface LogOptions {
  /** Of the process that answers. */
  readonly logs: RecentLogs;
}

const DEFAULT_LIMIT = 200;
const MAX_LIMIT = 1_000;

export function logRoute({ logs }: LogOptions): Route {
  return {
    method: 'GET',
    path: '/admin/logs',
    access: 'admin',
    operationId: 'readLog',
    summary: 'Shows the recent log records of the responding process about one dataset or one request',
    query: {
      dataset: { description: 'Dataset id', schema: { type: 'string', minLength: 1, maxLength: 200 } },
      request: { description: 'X-Request-Id of a response', schema: { type: 'string', minLength: 1, maxLength: 200 } },
      limit: {
        description: 'Maximum number of records, the newest. A response also ends at 512 KiB.',
        schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
      },
    },
    responses: {
      200: answer('The records that are kept', LogReport),
      ...refusals({ ...ADMIN_REFUSALS, 400: 'A query parameter is invalid, or neither or both name a subject' }),
    },
    handler: async (context) => {
      const { query } = context;
      const limit = typeof query.limit === 'number' ? query.limit : DEFAULT_LIMIT;
      const { records, isCut, since } = logs.find(subjectOf(query), limit);
      const report: LogReport = {
        results: records.map(recordView),
        cut: isCut,
        ...(since === undefined ? {} : { since }),
      };
      await context.json(200, report);
    },
  };
}

function subjectOf({ dataset, request }: Query): LogSubject {
  if (dataset !== undefined && request === undefined) return { dataset: String(dataset) };
  if (request !== undefined && dataset === undefined) return { request: String(request) };
  throw badRequest("expected one of the query parameters 'dataset' and 'request'");
}

const recordView = ({ time, level, msg, pid: _, ...fields }: FoundLog['records'][number]): LogReport['results'][0] => ({
  time: String(time),
  level: String(level),
  message: String(msg),
  fields,
});
