// What the routes for administrators share: refusals, the paging of reports, moments in queries, and how runs are shown.

import type { TSchema } from 'typebox';
import type { ReportPage } from '../../../engine/ports/dataset-queries.ts';
import type { Caller } from '../../kernel/auth/authenticate.ts';
import { quote } from '../../kernel/input/describe.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { badRequest } from '../../kernel/pipeline/errors.ts';
import type { Query, QueryValue } from '../../kernel/pipeline/query.ts';

/** The answers to callers who are no administrators. */
export const ADMIN_REFUSALS = { 401: 'No Admin-Token', 403: 'The Admin-Token is wrong' } as const;

/** Names who gives an order, for other operators. */
export const nameOf = (caller: Caller): string =>
  caller.kind === 'admin' && caller.operator ? `user ${caller.operator.userId}` : 'Admin-Token';

const DEFAULT_LIMIT = 100;
const MAX = Number.MAX_SAFE_INTEGER;

/** `limit` and `offset` of a report (docs/contract/installer.md#limits). */
export const reportPaging = {
  limit: {
    description: 'Maximum number of items; -1 for no limit',
    schema: { type: 'integer', minimum: -1, maximum: MAX, default: DEFAULT_LIMIT },
  },
  offset: {
    description: 'Number of items to skip; ignored without a limit',
    schema: { type: 'integer', minimum: 0, maximum: MAX, default: 0 },
  },
} as const;

interface AskedPage {
  readonly page: ReportPage;
  /** As the report shows it: limit -1 means none, and the offset is 0 without a limit. */
  readonly meta: { readonly limit: number; readonly offset: number };
}

export function reportPageOf(query: Query): AskedPage {
  const limit = typeof query.limit === 'number' ? query.limit : DEFAULT_LIMIT;
  if (limit < 0) return { page: { offset: 0 }, meta: { limit, offset: 0 } };
  const offset = typeof query.offset === 'number' ? query.offset : 0;
  return { page: { limit, offset }, meta: { limit, offset } };
}

const WHOLE = '0001-01-01T00:00:00';
const DATE_LENGTH = 10;

/** A query parameter that {@link askedMoment} reads. */
export const momentParameter = (description: string) => ({
  description,
  schema: { type: 'string', minLength: 10, maxLength: 19 },
});

/** The moment that a query parameter names; undefined when it is absent. Throws 400 when it names none. */
export function askedMoment(name: string, asked: QueryValue | undefined): Date | undefined {
  if (asked === undefined) return undefined;
  const text = String(asked);
  const found = momentOf(text);
  if (found) return found;
  throw badRequest(
    `query parameter '${name}' is ${quote(text)}: expected a date such as 2026-01-02, or a longer part of 2026-01-02T03:04:05`,
  );
}

/**
 * The earliest moment whose text begins with `text`, in UTC: a date, and any part of a time of day. 2026-01-02T1 is ten
 * o'clock. Undefined when no moment begins so.
 */
export function momentOf(text: string): Date | undefined {
  if (text.length < DATE_LENGTH || text.length > WHOLE.length) return undefined;
  const whole = text + WHOLE.slice(text.length);
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(whole)) return undefined;
  const moment = new Date(`${whole}Z`);
  // JavaScript reads 30 February as 2 March; databases have no year 0.
  const same = !Number.isNaN(moment.getTime()) && moment.toISOString() === `${whole}.000Z`;
  return same && moment.getUTCFullYear() > 0 ? moment : undefined;
}

export const Count = Type.Integer({ minimum: 0 });
export const CountOf = (description: string) => Type.Integer({ minimum: 0, description });
export const Offset = Type.Integer({ minimum: 0, description: '0 without a limit' });
export const Limit = Type.Integer({ minimum: -1, description: '-1 = no limit' });

export const runEnded = Type.Optional(
  Type.String({ format: 'date-time', description: 'Absent while the run is in progress' }),
);
export const runFailure = Type.Optional(Type.String({ description: 'Why the run ended early' }));

/** Counts by the reason for which something was left alone. */
export const skipsOf = (reasons: readonly string[], description: string) =>
  Type.Object(Object.fromEntries(reasons.map((reason) => [reason, Type.Optional(Count)])), { description });

/** Runs of the process that answers. Both are absent before its first run. */
export const runsOf = <Report extends TSchema>(report: Report) =>
  Type.Object({ current: Type.Optional(report), last: Type.Optional(report) });

/** The runs of a daemon or an order as {@link runsOf} shows them. */
export function shownRuns<Run, View extends object>(
  { current, lastReport }: { readonly current: Run | undefined; readonly lastReport: (Run & Ended) | undefined },
  view: (run: Run) => View,
): { current?: View; last?: View & { ended: string } } {
  return {
    ...(current ? { current: view(current) } : {}),
    ...(lastReport ? { last: { ...view(lastReport), ended: lastReport.endedAt.toISOString() } } : {}),
  };
}

interface Ended {
  readonly endedAt: Date;
}
