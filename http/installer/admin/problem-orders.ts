// POST /admin/problems/retry and /discard act on the problems that the body names, or that match its filter.

import type { Static } from 'typebox';
import type { DataTypes } from '../../../engine/model/data-types.ts';
import {
  type DiscardNote,
  PROBLEM_LANES,
  PROBLEM_SKIPS,
  type ProblemOrder,
  type ProblemReport,
  type SecondChances,
} from '../../../engine/ports/problems.ts';
import { checkedJsonBody } from '../../kernel/bodies/body.ts';
import { Faults } from '../../kernel/input/faults.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import { CLOSED } from '../metadata/create-details.ts';
import { ADMIN_REFUSALS, Count, CountOf, nameOf, skipsOf } from './admin-route.ts';
import { type AskedProblems, askedIn, cursorOf, filterOf, placeOf, problemFields } from './problem-filter.ts';

const MAX_IDS = 1_000;
/** Problems that one request acts on. */
const MAX_HANDLED = 1_000;
const MAX_REASON = 1_000;
const MAX_BODY_BYTES = MAX_IDS * 200;

const orderFields = {
  ids: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 160 }), {
      minItems: 1,
      maxItems: MAX_IDS,
      description: 'Only these',
    }),
  ),
  ...problemFields,
  all: Type.Optional(Type.Boolean({ description: 'Required to be true if nothing else narrows the selection' })),
  dryRun: Type.Optional(Type.Boolean({ description: 'Only counts what it would act on; default false' })),
  after: Type.Optional(Type.String({ minLength: 1, maxLength: 1_000, description: '`next` of the previous answer' })),
};
const RetryInput = Type.Named('ProblemRetry', orderFields, CLOSED);
const DiscardInput = Type.Named(
  'ProblemDiscard',
  {
    ...orderFields,
    reason: Type.String({ minLength: 1, maxLength: MAX_REASON, description: 'For other operators, and kept' }),
  },
  CLOSED,
);
type Order = Static<typeof RetryInput>;

const Handled = Type.Named('HandledProblems', {
  dryRun: Type.Boolean(),
  problems: CountOf('Problems that matched, up to 1,000 in one request; with `dryRun`, all'),
  done: CountOf('Problems that were retried or discarded; 0 with `dryRun`'),
  lanes: Type.Array(
    Type.Object({
      lane: Type.Enum([...PROBLEM_LANES]),
      problems: Count,
      done: Count,
      skipped: skipsOf(PROBLEM_SKIPS, 'Problems that were left as they are, by the reason'),
    }),
  ),
  next: Type.Optional(Type.String({ description: '`after` of the request that continues; absent when all was done' })),
});
type Handled = Static<typeof Handled>;

interface ProblemOrderOptions {
  readonly secondChances: SecondChances;
  readonly dataTypes: DataTypes;
}

export function problemOrderRoutes(options: ProblemOrderOptions): readonly Route[] {
  const { secondChances } = options;
  const readRetry = checkedJsonBody(RetryInput, { maxBytes: MAX_BODY_BYTES, notAnObject: 422 });
  const readDiscard = checkedJsonBody(DiscardInput, { maxBytes: MAX_BODY_BYTES, notAnObject: 422 });
  return [
    orderRoute(
      'retry',
      RetryInput,
      'Retries problems: their jobs are queued with all their attempts',
      async (context) => {
        const order = await readRetry(context.request);
        await handle(options, context, order, (asked) => secondChances.retry(asked, context.signal));
      },
    ),
    orderRoute(
      'discard',
      DiscardInput,
      'Discards problems: they are not listed any more, and not repeated',
      async (context) => {
        const { reason, ...order } = await readDiscard(context.request);
        const note: DiscardNote = { by: nameOf(context.caller), reason };
        await handle(options, context, order, (asked) => secondChances.discard(asked, note, context.signal), {
          reason,
        });
      },
    ),
  ];
}

const orderRoute = (
  name: 'retry' | 'discard',
  schema: object,
  summary: string,
  handler: (context: RequestContext) => Promise<void>,
): Route => ({
  method: 'POST',
  servedWhenFull: true,
  path: `/admin/problems/${name}`,
  access: 'admin',
  operationId: `${name}Problems`,
  summary,
  body: { description: 'Which problems', content: { 'application/json': { ...schema } } },
  responses: {
    200: answer('What was done. It acts on up to 1,000 problems; `next` continues', Handled),
    ...refusals({
      ...ADMIN_REFUSALS,
      400: 'The body is not JSON or too large',
      415: 'The body is not JSON',
      422: 'The body is invalid, or names no problems',
    }),
  },
  handler,
});

async function handle(
  { secondChances, dataTypes }: ProblemOrderOptions,
  context: RequestContext,
  { ids, all = false, dryRun = false, after, ...fields }: Order,
  run: (order: ProblemOrder) => Promise<ProblemReport>,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  const asked = askedIn(fields);
  const filter = { ...filterOf(asked, dataTypes, refuse), ...(ids ? { ids } : {}) };
  if (!all && Object.keys(filter).length === 0) refuse('all', 'must be true if nothing else narrows the selection');
  const place = after === undefined ? undefined : (placeOf(after) ?? refuse('after', 'is not `next` of an answer'));
  const report = dryRun
    ? countsReport(await secondChances.counts(filter, context.signal))
    : await run({ filter, limit: MAX_HANDLED, ...(place ? { after: place } : {}) });
  const handled = handledView(report, dryRun);
  context.concerns({ records: { ...more, ...recordsOf(asked, ids, all, handled) } });
  await context.json(200, handled);
}

function refuse(field: string, sentence: string): never {
  const faults = new Faults();
  faults.add([field], sentence);
  throw faults.refusal();
}

const countsReport = (counts: Awaited<ReturnType<SecondChances['counts']>>): ProblemReport => ({
  lanes: [...counts].map(([lane, problems]) => ({ lane, problems, done: 0, skipped: {} })),
  next: undefined,
});

function handledView({ lanes, next }: ProblemReport, dryRun: boolean): Handled {
  const sum = (field: 'problems' | 'done'): number => lanes.reduce((total, one) => total + one[field], 0);
  return {
    ...{ dryRun, problems: sum('problems'), done: sum('done') },
    lanes: lanes.map(({ skipped, ...lane }) => ({ ...lane, skipped: { ...skipped } })),
    ...(next ? { next: cursorOf(next) } : {}),
  };
}

/** For the audit trail: the filter or ids, and the counts. */
const recordsOf = (
  asked: AskedProblems,
  ids: readonly string[] | undefined,
  all: boolean,
  { dryRun, problems, done }: Handled,
): Readonly<Record<string, string>> => ({
  ...asked,
  ...(ids ? { ids: ids.join(' ') } : {}),
  ...(all ? { all: 'true' } : {}),
  ...(dryRun ? { dryRun: 'true' } : {}),
  ...{ problems: String(problems), done: String(done) },
});
