// GET /datasets/{id}/events and GET /events: what happened to datasets. As a page of JSON, or, for clients that accept
// text/event-stream, as a stream that goes on with what happens.

import { concerns, type DatasetEvent } from '../../../engine/model/dataset-event.ts';
import type { DatasetId, UserId } from '../../../engine/model/ids.ts';
import type { DatasetEvents } from '../../../engine/ports/dataset-events.ts';
import type { DatasetQueries } from '../../../engine/ports/dataset-queries.ts';
import type { Logger } from '../../../engine/runtime/log.ts';
import type { Metrics } from '../../../engine/runtime/metrics.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { quote } from '../../kernel/input/describe.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { badRequest, forbidden, HttpError } from '../../kernel/pipeline/errors.ts';
import { answer, type Route, type RouteResponse, refusals } from '../../kernel/pipeline/route.ts';
import { findVisible, type Viewer, viewerOf } from '../access.ts';
import { datasetParam } from '../dataset-terms.ts';
import { EventFeed } from './event-feed.ts';
import { EventPlaces, type StreamLimits } from './event-places.ts';
import { EventStream, type StreamEnd, type Streamed } from './event-stream.ts';
import { DatasetEventPage, pageView } from './event-terms.ts';

export interface EventRoutesOptions {
  readonly datasetEvents: Pick<DatasetEvents, 'newest' | 'oldest' | 'page'>;
  readonly queries: Pick<DatasetQueries, 'view'>;
  readonly settings: { readonly eventStreams: StreamLimits };
  readonly eventMetrics: EventMetrics;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface EventMetrics {
  /** Called before each scrape for the number of open streams. */
  watch(open: () => number): void;
  sent(events: number): void;
  ended(end: StreamEnd): void;
}

export function eventMetrics(metrics: Metrics): EventMetrics {
  const open = metrics.gauge('event_streams_open', 'Streams of dataset events that are open.');
  const sent = metrics.counter('events_sent_total', 'Dataset events sent to streams.');
  const ended = metrics.counter('event_streams_ended_total', 'Streams of dataset events by why they ended.', [
    'reason',
  ]);
  return {
    watch: (count) => void metrics.onScrape(() => open.set({}, count())),
    sent: (events) => sent.inc({}, events),
    ended: (reason) => ended.inc({ reason }),
  };
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

const QUERY = {
  after: {
    description: 'Only events after this id; 0 for all that are kept. `Last-Event-ID` takes precedence.',
    schema: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  },
  limit: {
    description: 'Maximum number of events of a JSON page',
    schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
  },
} as const;

const EVENTS: RouteResponse = {
  ...answer('A page of events. Where `Accept` names text/event-stream, a stream that goes on', DatasetEventPage),
  also: {
    'text/event-stream': {
      type: 'string',
      description: 'Each event has its `id`, its kind as `event`, and a DatasetEvent as `data`',
    },
  },
};

const COMMON = {
  method: 'GET',
  audit: 'none',
  lasting: true,
  headers: {
    'Last-Event-ID': {
      description: 'The id of the last event that the client has: the stream continues after it',
      schema: { type: 'integer', minimum: 0 },
    },
  },
} as const;

const REFUSED = {
  400: '`Last-Event-ID` or a query parameter is not understood',
  429: 'Too many requests or streams; Retry-After says when to try again',
};

/** What the caller may get. */
interface Asked extends Pick<Streamed, 'scope' | 'includes' | 'isVisible'> {
  /** Where a stream begins that names no event: with all that is kept, or with what comes. */
  readonly begin: 'oldest' | 'newest';
}

export function eventRoutes(options: EventRoutesOptions): readonly Route[] {
  const feed = new EventFeed(options);
  const places = new EventPlaces(options.settings.eventStreams);
  options.eventMetrics.watch(() => places.taken);
  const parts = { ...options, feed, places, random: Math.random, onSent: options.eventMetrics.sent };
  return [
    {
      ...COMMON,
      path: '/datasets/:id/events',
      access: 'anyone-known',
      operationId: 'followDataset',
      summary: 'Tells what happened to a dataset, and then what happens',
      params: datasetParam,
      query: QUERY,
      responses: {
        200: EVENTS,
        ...refusals({ ...REFUSED, 404: 'No such dataset', 410: 'The dataset is deleted, or no longer shared' }),
      },
      handler: async (context) => tell(parts, context, await ofDataset(options, context)),
    },
    {
      ...COMMON,
      path: '/events',
      access: 'user-or-admin',
      operationId: 'followEvents',
      summary: "Tells what happens to the caller's datasets, and to those shared with the caller",
      query: {
        ...QUERY,
        all: { description: 'Of all users; for operators', schema: { type: 'boolean', default: false } },
      },
      responses: { 200: EVENTS, ...refusals({ ...REFUSED, 403: 'Not an operator' }) },
      handler: async (context) => tell(parts, context, ofCaller(context)),
    },
  ];
}

async function ofDataset({ queries }: EventRoutesOptions, context: RequestContext): Promise<Asked> {
  const viewer = viewerOf(context);
  const { dataset } = await findVisible(queries, context.param('id'), viewer, context.signal);
  const user = userOf(viewer);
  const isVisible = async (signal: AbortSignal): Promise<boolean> => {
    try {
      await findVisible(queries, dataset, viewer, signal);
      return true;
    } catch (error) {
      if (error instanceof HttpError && error.code < 500) return false;
      throw error;
    }
  };
  return {
    scope: { of: 'dataset', dataset, ...(user ? { user } : {}) },
    includes: (event) => isOf(event, dataset, user),
    isVisible,
    begin: 'oldest',
  };
}

const userOf = (viewer: Viewer): UserId | undefined => (viewer === 'admin' || viewer === 'guest' ? undefined : viewer);

const isOf = (event: DatasetEvent, dataset: DatasetId, user: UserId | undefined): boolean =>
  event.dataset === dataset && (event.addressee === undefined || event.addressee === user);

function ofCaller({ caller, query }: RequestContext): Asked {
  const isAdmin = caller.kind === 'admin';
  if (query.all === true) {
    if (!isAdmin) throw forbidden("query parameter 'all' is for operators");
    return { scope: { of: 'all' }, includes: () => true, begin: 'newest' };
  }
  const user = isAdmin ? caller.operator?.userId : caller.kind === 'user' ? caller.userId : undefined;
  if (user === undefined) throw forbidden("the Admin-Token is no user: ask for the events of all with 'all=true'");
  return { scope: { of: 'user', user }, includes: (event) => concerns(event, user), begin: 'newest' };
}

type Parts = EventRoutesOptions & ConstructorParameters<typeof EventStream>[0] & { readonly places: EventPlaces };

async function tell(parts: Parts, context: RequestContext, asked: Asked): Promise<void> {
  const { datasetEvents } = parts;
  const { response, query, signal } = context;
  response.setHeader('vary', ['accept', response.getHeader('vary') ?? 'accept-encoding'].join(', '));
  const known = idOf(context);
  const isStream = wantsStream(context);
  const begin = isStream ? asked.begin : 'oldest';
  // 0 is before everything: who asks for it has missed nothing.
  const after = known || (await datasetEvents[known === 0 ? 'oldest' : begin](signal));
  if (!isStream) {
    const limit = typeof query.limit === 'number' ? query.limit : DEFAULT_LIMIT;
    return context.json(200, pageView(await datasetEvents.page(asked.scope, after, limit, signal)));
  }
  using _place = parts.places.take(context.tenant);
  const { caller, draining } = context;
  const person = caller.kind === 'admin' ? caller.operator : caller.kind === 'anonymous' ? undefined : caller;
  const stream = new EventStream(parts, {
    ...{ ...asked, after, response, signal, draining },
    get untilMs() {
      return person?.untilMs ?? Number.POSITIVE_INFINITY;
    },
  });
  if (!context.wantsBody) return stream.headOnly();
  parts.eventMetrics.ended(await stream.run());
}

function idOf({ request, query }: RequestContext): number | undefined {
  const header = request.headers['last-event-id'];
  if (header === undefined || header === '') return typeof query.after === 'number' ? query.after : undefined;
  const id = /^\d{1,16}$/.test(String(header)) ? Number(header) : Number.NaN;
  if (!Number.isSafeInteger(id))
    throw badRequest(`header Last-Event-ID is ${quote(String(header))}: expected the id of an event, a whole number`);
  return id;
}

const wantsStream = ({ request }: RequestContext): boolean =>
  /\btext\/event-stream\b/i.test(request.headers.accept ?? '');
