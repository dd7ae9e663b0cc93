// GET /admin/problems lists what failed for good and waits for a person, oldest first, in pages. GET /admin/problems/causes groups
// it by cause.

import type { Static } from 'typebox';
import type { DataTypes } from '../../../engine/model/data-types.ts';
import {
  PROBLEM_LANES,
  PROBLEM_STATES,
  type Problem,
  type ProblemCause,
  type ProblemFilter,
  type ProblemList,
} from '../../../engine/ports/problems.ts';
import { Type, UserIdOutput } from '../../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { badRequest } from '../../kernel/pipeline/errors.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import { Datetime, VdiId } from '../dataset-terms.ts';
import { ADMIN_REFUSALS } from './admin-route.ts';
import { askedIn, cursorOf, filterOf, placeOf, problemParameters } from './problem-filter.ts';

const ID =
  'Names the problem as long as it lasts: `lane:dataset`, `lane:dataset:target` for an install, or `report:ID`, `mail:ID`';
const Lane = Type.Enum([...PROBLEM_LANES], { title: 'FailedLane' });
const State = Type.Enum([...PROBLEM_STATES], {
  title: 'FailedState',
  description: '`dead`: the job used its attempts. `failed`: the upload or import ended so. The others are of installs',
});

const ProblemItem = Type.Named('FailedStep', {
  id: Type.String({ description: ID }),
  lane: Lane,
  state: State,
  datasetId: Type.Optional(VdiId),
  name: Type.Optional(Type.String({ description: 'Of the dataset; absent if it is unknown' })),
  owner: Type.Optional(UserIdOutput),
  type: Type.Optional(Type.String({ description: '`NAME@VERSION`; absent if the dataset is unknown' })),
  installTarget: Type.Optional(Type.String()),
  message: Type.String({ description: 'At most its first 2,000 characters' }),
  cause: Type.String({ description: 'The message without ids, numbers, paths and quoted values' }),
  since: Datetime,
});
type ProblemItem = Static<typeof ProblemItem>;

const ProblemPageView = Type.Named('FailedSteps', {
  results: Type.Array(ProblemItem, { description: 'Oldest first' }),
  next: Type.Optional(Type.String({ description: '`after` of the next page; absent on the last page' })),
});
type ProblemPageView = Static<typeof ProblemPageView>;

const CauseItem = Type.Named('FailureCause', {
  cause: Type.String(),
  lane: Lane,
  state: State,
  count: Type.Integer({ minimum: 1 }),
  oldest: Datetime,
  newest: Datetime,
  example: Type.Object({ id: Type.String({ description: ID }), message: Type.String() }, { description: 'The newest' }),
});
type CauseItem = Static<typeof CauseItem>;

const CauseList = Type.Named('FailureCauses', {
  results: Type.Array(CauseItem, { description: 'Most problems first' }),
});
type CauseList = Static<typeof CauseList>;

interface ProblemOptions {
  readonly secondChances: Pick<ProblemList, 'page' | 'causes'>;
  readonly dataTypes: DataTypes;
}

export function problemRoutes(options: ProblemOptions): readonly Route[] {
  const { secondChances } = options;
  return [
    {
      method: 'GET',
      path: '/admin/problems',
      access: 'admin',
      operationId: 'listProblems',
      summary: 'Lists what failed for good and waits for a person',
      query: {
        ...problemParameters,
        limit: limitOf(1_000, 100, 'Maximum number of problems. A page also ends at 256 KiB.'),
        after: {
          description: '`next` of the previous page',
          schema: { type: 'string', minLength: 1, maxLength: 1_000 },
        },
      },
      responses: {
        200: answer('A page', ProblemPageView),
        ...refusals({ ...ADMIN_REFUSALS, 400: 'A query parameter is invalid' }),
      },
      handler: async (context) => {
        const after = context.query.after === undefined ? undefined : placeOf(String(context.query.after));
        if (context.query.after !== undefined && !after)
          throw badRequest("query parameter 'after' is not `next` of a page");
        const limit = Number(context.query.limit ?? 100);
        const page = await secondChances.page(
          queryFilter(context, options),
          { limit, ...(after ? { after } : {}) },
          context.signal,
        );
        const list: ProblemPageView = {
          results: page.problems.map(problemItem),
          ...(page.next ? { next: cursorOf(page.next) } : {}),
        };
        await context.json(200, list);
      },
    },
    {
      method: 'GET',
      path: '/admin/problems/causes',
      access: 'admin',
      operationId: 'listProblemCauses',
      summary: 'Lists the causes of problems, with how many have each',
      query: { ...problemParameters, limit: limitOf(200, 50, 'Maximum number of causes') },
      responses: {
        200: answer('The causes', CauseList),
        ...refusals({ ...ADMIN_REFUSALS, 400: 'A query parameter is invalid' }),
      },
      handler: async (context) => {
        const limit = Number(context.query.limit ?? 50);
        const causes = await secondChances.causes(queryFilter(context, options), limit, context.signal);
        const list: CauseList = { results: causes.map(causeItem) };
        await context.json(200, list);
      },
    },
  ];
}

const limitOf = (maximum: number, byDefault: number, description: string) => ({
  description,
  schema: { type: 'integer', minimum: 1, maximum, default: byDefault },
});

function queryFilter({ query }: RequestContext, { dataTypes }: ProblemOptions): ProblemFilter {
  return filterOf(askedIn(query), dataTypes, (field, sentence) => {
    throw badRequest(`query parameter '${field}' ${sentence}`);
  });
}

const problemItem = ({ dataset, name, target, type, since, ...problem }: Problem): ProblemItem => ({
  ...{ id: problem.id, lane: problem.lane, state: problem.state },
  ...(dataset === undefined ? {} : { datasetId: dataset }),
  ...(name === undefined ? {} : { name }),
  ...(problem.owner === undefined ? {} : { owner: problem.owner }),
  ...(type === undefined ? {} : { type: type.replace(/:([^:]*)$/, '@$1') }),
  ...(target === undefined ? {} : { installTarget: target }),
  ...{ message: problem.message, cause: problem.cause, since: since.toISOString() },
});

const causeItem = ({ oldest, newest, ...cause }: ProblemCause): CauseItem => ({
  ...cause,
  ...{ oldest: oldest.toISOString(), newest: newest.toISOString() },
});
