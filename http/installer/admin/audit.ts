// GET /admin/audit: the audit trail, newest first, page by page; as application/x-ndjson all that is asked for, oldest first,
// one JSON object a line. Nothing is held between two pages.

import { AUDIT_OUTCOMES, type AuditEntry, type AuditOutcome, type AuditPlace } from '../../../engine/model/audit.ts';
import type { AuditFilter, AuditLog } from '../../../engine/ports/audit-log.ts';
import { quote } from '../../kernel/input/describe.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { badRequest } from '../../kernel/pipeline/errors.ts';
import type { Query, QueryValue } from '../../kernel/pipeline/query.ts';
import { answer, refusals } from '../../kernel/pipeline/responses.ts';
import type { Route } from '../../kernel/pipeline/route.ts';
import { type AuditItem, AuditReport } from '../schema/audit.ts';
import { momentOf } from './partial-datetime.ts';
import { ADMIN_REFUSALS } from './refusals.ts';

export interface AuditOptions {
  readonly audit: Pick<AuditLog, 'page'>;
}

const LINES_TYPE = 'application/x-ndjson';
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;
const moment = (description: string) => ({ description, schema: { type: 'string', minLength: 10, maxLength: 19 } });
const text = (description: string) => ({ description, schema: { type: 'string', minLength: 1, maxLength: 1_000 } });

export function auditRoute(options: AuditOptions): Route {
  return {
    method: 'GET',
    path: '/admin/audit',
    access: 'admin',
    operationId: 'readAudit',
    summary: 'Shows who asked for what: changes, downloads, reads by administrators, refusals',
    query: {
      from: moment('Only rows from then on: the beginning of 2026-01-02T03:04:05, from its date on, in UTC'),
      to: moment('Only rows before then; given as `from` is'),
      actor: text("A user's id, or the name of a machine's token"),
      dataset: text('About this dataset'),
      route: text("A route's pattern, such as /datasets/:id"),
      outcome: { description: 'How it ended', schema: { enum: [...AUDIT_OUTCOMES] } },
      after: { description: '`next` of the page before', schema: { type: 'string', pattern: '^\\d{1,15}-\\d{1,15}$' } },
      limit: {
        description: 'At most so many; a page also ends when it has 256 KiB. Of JSON lines there is no limit.',
        schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
      },
    },
    headers: {
      Accept: {
        description: `${LINES_TYPE} gives all that is asked for, oldest first, an object a line`,
        schema: { type: 'string' },
      },
    },
    responses: {
      200: answer('A page', AuditReport),
      ...refusals({ ...ADMIN_REFUSALS, 400: 'A query parameter is wrong' }),
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
  const from = timeOf('from', query.from);
  const to = timeOf('to', query.to);
  return {
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(query.actor === undefined ? {} : { actor: String(query.actor) }),
    ...(query.dataset === undefined ? {} : { dataset: String(query.dataset) }),
    ...(query.route === undefined ? {} : { route: String(query.route) }),
    ...(query.outcome === undefined ? {} : { outcome: query.outcome as AuditOutcome }),
  };
}

function timeOf(name: string, asked: QueryValue | undefined): number | undefined {
  if (asked === undefined) return undefined;
  const found = momentOf(String(asked));
  if (found) return found.getTime();
  throw badRequest(
    `query parameter '${name}' is ${quote(String(asked))}: a date, or more of 2026-01-02T03:04:05, is needed`,
  );
}
