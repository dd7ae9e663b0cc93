// GET /admin/audit: the audit trail, newest first, in pages; as application/x-ndjson everything that matches, oldest first,
// one JSON object per line. No state is kept between two pages.

import type { Static } from 'typebox';
import {
  AUDIT_ACTORS,
  AUDIT_KINDS,
  AUDIT_OUTCOMES,
  type AuditEntry,
  type AuditOutcome,
  type AuditPlace,
} from '../../../engine/model/audit.ts';
import type { AuditFilter, AuditLog } from '../../../engine/ports/audit-log.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import type { Query, QueryValue } from '../../kernel/pipeline/query.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import { Datetime } from '../dataset-terms.ts';
import { ADMIN_REFUSALS, askedMoment, momentParameter } from './admin-route.ts';

const AuditItem = Type.Named('AuditItem', {
  id: Type.String({ description: 'Position in chronological order' }),
  at: Datetime,
  kind: Type.Enum([...AUDIT_KINDS]),
  actor: Type.Object({
    kind: Type.Enum([...AUDIT_ACTORS]),
    id: Type.Optional(Type.String({ description: 'A user id, or the name of a machine token' })),
  }),
  address: Type.String({ description: 'IP address, or a /64 network if its refusals were counted together' }),
  service: Type.String(),
  method: Type.String(),
  route: Type.String({ description: "The route's pattern" }),
  dataset: Type.Optional(Type.String()),
  records: Type.Record(Type.String(), Type.Union([Type.String(), Type.Integer()]), {
    description: 'Path parameters, and ids of created records; ids of users may be numbers',
  }),
  outcome: Type.Enum([...AUDIT_OUTCOMES]),
  status: Type.Optional(Type.Integer({ description: 'Absent if no response was sent' })),
  count: Type.Integer({ minimum: 1, description: 'Number of identical requests that this row represents' }),
  request: Type.String({ description: 'X-Request-Id of the response, or of the first one counted' }),
});
type AuditItem = Static<typeof AuditItem>;

const AuditReport = Type.Named('AuditReport', {
  results: Type.Array(AuditItem, { description: 'Newest first' }),
  next: Type.Optional(Type.String({ description: '`after` of the next page; absent on the last page' })),
});
type AuditReport = Static<typeof AuditReport>;

interface AuditOptions {
  readonly audit: Pick<AuditLog, 'page'>;
}

const LINES_TYPE = 'application/x-ndjson';
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;
const text = (description: string) => ({ description, schema: { type: 'string', minLength: 1, maxLength: 1_000 } });

export function auditRoute(options: AuditOptions): Route {
  return {
    method: 'GET',
    path: '/admin/audit',
    access: 'admin',
    operationId: 'readAudit',
    summary: 'Shows the audit trail: changes, downloads, administrator reads, refusals',
    query: {
      from: momentParameter('Only rows from then on: the beginning of 2026-01-02T03:04:05, from its date on, in UTC'),
      to: momentParameter('Only rows before then; given as `from` is'),
      actor: text('A user id, or the name of a machine token'),
      dataset: text('About this dataset'),
      route: text("A route's pattern, such as /datasets/:id"),
      outcome: { description: 'Outcome of the request', schema: { enum: [...AUDIT_OUTCOMES] } },
      after: {
        description: '`next` of the previous page',
        schema: { type: 'string', pattern: '^\\d{1,15}-\\d{1,15}$' },
      },
      limit: {
        description: 'Maximum number of rows. A page also ends at 256 KiB. JSON lines have no limit.',
        schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
      },
    },
    headers: {
      Accept: {
        description: `${LINES_TYPE} returns all matching rows, oldest first, one object per line`,
        schema: { type: 'string' },
      },
    },
    responses: {
      200: answer('A page', AuditReport),
      ...refusals({ ...ADMIN_REFUSALS, 400: 'A query parameter is invalid' }),
    },
    handler: (context) => read(options, context),
  };
}

async function read({ audit }: AuditOptions, context: RequestContext): Promise<void> {
  const { query, request, signal } = context;
  const filter = filterOf(query);
  const after = placeOf(query.after);
  if (String(request.headers.accept ?? '').includes(LINES_TYPE)) {
    const headers = { 'content-type': LINES_TYPE, 'cache-control': 'no-store' };
    return context.textStream(headers, context.inTurn(lines(audit, filter, after, signal)));
  }
  const limit = typeof query.limit === 'number' ? query.limit : DEFAULT_LIMIT;
  const page = await audit.page(filter, { limit, order: 'newest-first', ...(after ? { after } : {}) }, signal);
  const body: AuditReport = {
    results: page.entries.map(item),
    ...(page.next ? { next: idOf(page.next) } : {}),
  };
  await context.json(200, body);
}

async function* lines(
  audit: AuditOptions['audit'],
  filter: AuditFilter,
  after: AuditPlace | undefined,
  signal: AbortSignal,
): AsyncGenerator<string> {
  for (let begin = after; ; ) {
    const options = { limit: MAX_LIMIT, order: 'oldest-first', ...(begin ? { after: begin } : {}) } as const;
    const { entries, next } = await audit.page(filter, options, signal);
    if (entries.length > 0) yield entries.map((entry) => `${JSON.stringify(item(entry))}\n`).join('');
    if (!next) return;
    begin = next;
  }
}

const idOf = ({ at, number }: AuditPlace): string => `${at}-${number}`;

const item = ({ at, number, ...row }: AuditEntry): AuditItem => ({
  id: idOf({ at, number }),
  at: new Date(at).toISOString(),
  ...row,
});

function placeOf(asked: QueryValue | undefined): AuditPlace | undefined {
  if (asked === undefined) return undefined;
  const [at = '', number = ''] = String(asked).split('-');
  return { at: Number(at), number: Number(number) };
}

function filterOf(query: Query): AuditFilter {
  const from = askedMoment('from', query.from)?.getTime();
  const to = askedMoment('to', query.to)?.getTime();
  return {
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(query.actor === undefined ? {} : { actor: String(query.actor) }),
    ...(query.dataset === undefined ? {} : { dataset: String(query.dataset) }),
    ...(query.route === undefined ? {} : { route: String(query.route) }),
    ...(query.outcome === undefined ? {} : { outcome: query.outcome as AuditOutcome }),
  };
}
