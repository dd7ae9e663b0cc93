// GET /admin/datasets/{id}/history: the life of a dataset, in pages. It merges the attempts of the lanes
// (engine/ports/job-history.ts) with the requests that changed the dataset (the audit trail), in chronological order. Nothing is
// held between two pages.

import type { Static } from 'typebox';
import { AUDIT_ACTORS, AUDIT_OUTCOMES, type AuditEntry } from '../../../engine/model/audit.ts';
import { LANES } from '../../../engine/model/event.ts';
import { type DatasetId, parseDatasetId } from '../../../engine/model/ids.ts';
import type { AuditLog } from '../../../engine/ports/audit-log.ts';
import { HISTORY_OUTCOMES, type HistoryEntry, type JobHistory } from '../../../engine/ports/job-history.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { notFound } from '../../kernel/pipeline/errors.ts';
import type { QueryValue } from '../../kernel/pipeline/query.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import { Datetime, datasetParam, InstallTargetIdOutput } from '../dataset-terms.ts';
import { ADMIN_REFUSALS } from './admin-route.ts';
import { JobId } from './jobs.ts';

const Milliseconds = Type.Integer({ minimum: 0, description: 'Duration in ms' });

const CallDetail = Type.Named('PluginCall', {
  call: Type.String({ description: 'Such as install-data' }),
  plugin: Type.Optional(Type.String()),
  target: Type.Optional(InstallTargetIdOutput),
  ms: Milliseconds,
  outcome: Type.String({ description: 'Of the reply, such as success, or `error` when there was none' }),
  message: Type.Optional(Type.String()),
  exitCode: Type.Optional(Type.Integer()),
  output: Type.Optional(Type.String({ description: 'The end of what the script printed' })),
});

const JobDetail = Type.Named('HistoryJob', {
  lane: Type.Enum([...LANES]),
  job: JobId,
  eventId: Type.Integer({ format: 'int64' }),
  outcome: Type.Enum([...HISTORY_OUTCOMES]),
  attempt: Type.Optional(Type.Integer({ minimum: 1, description: 'Attempts that only waited do not count' })),
  ms: Type.Optional(Milliseconds),
  message: Type.Optional(Type.String()),
  calls: Type.Optional(Type.Array(CallDetail, { description: 'Calls of plugins and other tasks' })),
  process: Type.Optional(
    Type.Object({
      instance: Type.Integer({ minimum: 1 }),
      host: Type.String(),
      pid: Type.Integer({ minimum: 1 }),
      started: Datetime,
    }),
  ),
});

const RequestDetail = Type.Named('HistoryRequest', {
  actor: Type.Object({ kind: Type.Enum([...AUDIT_ACTORS]), id: Type.Optional(Type.String()) }),
  method: Type.String(),
  route: Type.String({ description: "The route's pattern" }),
  outcome: Type.Enum([...AUDIT_OUTCOMES]),
  status: Type.Optional(Type.Integer({ description: 'Absent if no response was sent' })),
  request: Type.String({ description: 'X-Request-Id of the response' }),
});

const HistoryItem = Type.Named('HistoryEntry', {
  id: Type.String({ description: 'Position in chronological order' }),
  at: Type.String({ format: 'date-time', description: 'When it ended' }),
  job: Type.Optional(JobDetail),
  request: Type.Optional(RequestDetail),
});
type HistoryItem = Static<typeof HistoryItem>;

const DatasetHistory = Type.Named('DatasetHistory', {
  results: Type.Array(HistoryItem, { description: 'Each has either `job` or `request`' }),
  next: Type.Optional(Type.String({ description: '`after` of the next page; absent on the last page' })),
});
type DatasetHistory = Static<typeof DatasetHistory>;

interface DatasetHistoryOptions {
  readonly jobHistory: Pick<JobHistory, 'page'>;
  readonly audit: Pick<AuditLog, 'page'>;
}

const ORDERS = ['oldest-first', 'newest-first'] as const;
type Order = (typeof ORDERS)[number];
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

export function datasetHistoryRoute(options: DatasetHistoryOptions): Route {
  return {
    method: 'GET',
    path: '/admin/datasets/:id/history',
    access: 'admin',
    operationId: 'readDatasetHistory',
    summary: 'Shows the life of a dataset: attempts of the lanes, and requests that changed it; also after it is gone',
    params: datasetParam,
    query: {
      order: { description: 'Order of the entries', schema: { enum: [...ORDERS], default: 'oldest-first' } },
      after: {
        description: '`next` of the previous page',
        schema: { type: 'string', pattern: '^\\d{1,15}-[01]-\\d{1,15}$' },
      },
      limit: {
        description: 'Maximum number of entries. A page also ends at 512 KiB.',
        schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
      },
    },
    responses: {
      200: answer('A page', DatasetHistory),
      ...refusals({ ...ADMIN_REFUSALS, 400: 'A query parameter is invalid', 404: 'Nothing is kept of such a dataset' }),
    },
    handler: async (context) => {
      const { query, signal } = context;
      const text = context.param('id');
      const dataset = parseDatasetId(text);
      const order = query.order === 'newest-first' ? 'newest-first' : 'oldest-first';
      const limit = typeof query.limit === 'number' ? query.limit : DEFAULT_LIMIT;
      const after = placeOf(query.after);
      const page = dataset && (await readPage(options, dataset, { order, limit, after }, signal));
      if (!page || (!after && page.results.length === 0)) throw notFound(`there is no history of a dataset '${text}'`);
      await context.json(200, page);
    },
  };
}

/** In the same millisecond, requests come before jobs. */
const SOURCES = { request: 0, job: 1 } as const;
type Source = keyof typeof SOURCES;

interface Place {
  readonly at: number;
  readonly source: number;
  readonly number: number;
}
type Placed = readonly [Place, HistoryItem];
interface Asked {
  readonly order: Order;
  readonly limit: number;
  readonly after: Place | undefined;
}

async function readPage(
  { jobHistory, audit }: DatasetHistoryOptions,
  dataset: DatasetId,
  asked: Asked,
  signal: AbortSignal,
): Promise<DatasetHistory> {
  const { order, limit, after } = asked;
  const from = (source: Source) => ({ order, limit, ...(after ? { after: beginOf(source, after) } : {}) });
  const [jobs, requests] = await Promise.all([
    jobHistory.page(dataset, from('job'), signal),
    audit.page({ dataset, kind: 'change' }, from('request'), signal),
  ]);
  const sign = order === 'newest-first' ? -1 : 1;
  const ends = [jobs.next && placed('job', jobs.next), requests.next && placed('request', requests.next)];
  // If one source has more entries, everything after the end of its page belongs to a later page.
  const isRead = (place: Place): boolean => ends.every((end) => !end || sign * compare(place, end) <= 0);
  const all: readonly Placed[] = [...jobs.entries.map(jobItem), ...requests.entries.map(requestItem)];
  const shown = all
    .filter(([place]) => isRead(place))
    .toSorted(([a], [b]) => sign * compare(a, b))
    .slice(0, limit);
  const last = shown.at(-1)?.[0];
  const isMore = ends.some((end) => end !== undefined) || shown.length < all.length;
  return { results: shown.map(([, item]) => item), ...(last && isMore ? { next: idOf(last) } : {}) };
}

const compare = (a: Place, b: Place): number => a.at - b.at || a.source - b.source || a.number - b.number;

const placed = (source: Source, { at, number }: Omit<Place, 'source'>): Place => ({
  ...{ at, number },
  source: SOURCES[source],
});

/** Where the entries of a source that come after a place begin, in either order. */
function beginOf(source: Source, { at, number, source: ended }: Place): Omit<Place, 'source'> {
  if (SOURCES[source] === ended) return { at, number };
  return { at, number: SOURCES[source] > ended ? 0 : Number.MAX_SAFE_INTEGER };
}

const idOf = ({ at, source, number }: Place): string => `${at}-${source}-${number}`;

function placeOf(asked: QueryValue | undefined): Place | undefined {
  if (asked === undefined) return undefined;
  const [at = '', source = '', number = ''] = String(asked).split('-');
  return { at: Number(at), source: Number(source), number: Number(number) };
}

function item(source: Source, entry: Omit<Place, 'source'>, detail: Omit<HistoryItem, 'id' | 'at'>): Placed {
  const place = placed(source, entry);
  return [place, { id: idOf(place), at: new Date(entry.at).toISOString(), ...detail }];
}

function jobItem(entry: HistoryEntry): Placed {
  const { at: _at, number: _number, process, calls, ...rest } = entry;
  const by = process ? { process: { ...process, started: process.started.toISOString() } } : {};
  const job = { ...rest, ...(calls ? { calls: calls.map((call) => ({ ...call })) } : {}), ...by };
  return item('job', entry, { job });
}

function requestItem(entry: AuditEntry): Placed {
  const { actor, method, route, outcome, status, request } = entry;
  const shown = { actor, method, route, outcome, ...(status === undefined ? {} : { status }), request };
  return item('request', entry, { request: shown });
}
