// GET /history: changes of access requests, newest first. Owners see all, managers those of their datasets, everybody else
// none. Unlike elsewhere, enum values are in upper case, because deployed clients know no other form.

import { REQUEST_STATUSES, RESTRICTION_LEVELS } from '../../engine/model/access-request.ts';
import type { UserId } from '../../engine/model/ids.ts';
import type { Accounts } from '../../engine/ports/access-people.ts';
import type { AccessHistory, HistoryEntry } from '../../engine/ports/access-requests.ts';
import { jsonReport } from '../kernel/answers/json-text.ts';
import { Type } from '../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { answer, type Route, refusals } from '../kernel/pipeline/route.ts';
import { type ActorOptions, actorOf } from './actor.ts';
import { count, dateTimeOnly, id } from './bodies.ts';
import { pageOf, pageParameters, type ShowUser, showUsers } from './people.ts';

const inUpperCase = (words: readonly string[]) => Type.Enum(words.map((word) => word.toUpperCase()));

const HistoryUser = Type.Named('HistoryUser', {
  userID: Type.Unsafe<string>({ type: 'integer', format: 'int64', minimum: 0 }),
  firstName: Type.String(),
  lastName: Type.String(),
  email: Type.String(),
  organization: Type.String(),
});

const History = Type.Named('HistoryPage', {
  meta: Type.Object({ rows: count, offset: count }),
  results: Type.Array(
    Type.Object({
      cause: Type.Object({
        user: HistoryUser,
        action: Type.Enum(['CREATE', 'UPDATE', 'DELETE']),
        timestamp: Type.String(),
      }),
      row: Type.Object({
        endUserID: id,
        user: HistoryUser,
        datasetPresenterID: Type.String(),
        restrictionLevel: inUpperCase(RESTRICTION_LEVELS),
        approvalStatus: inUpperCase(REQUEST_STATUSES),
        startDate: Type.String(),
        duration: Type.Integer(),
        purpose: Type.String(),
        researchQuestion: Type.String(),
        analysisPlan: Type.String(),
        priorAuth: Type.String(),
        denialReason: Type.String(),
        dateDenied: Type.Optional(Type.String({ description: 'Absent unless denied' })),
        allowSelfEdits: Type.Boolean(),
      }),
    }),
  ),
});

export interface HistoryOptions extends ActorOptions {
  readonly history: AccessHistory;
  readonly accounts: Pick<Accounts, 'find'>;
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 100;

export function historyRoute(options: HistoryOptions): Route {
  return {
    method: 'GET',
    audit: 'none',
    path: '/history',
    access: 'user',
    operationId: 'getHistory',
    summary: 'Lists changes of access requests, newest first',
    query: pageParameters(DEFAULT_LIMIT, MAX_LIMIT),
    responses: { 200: answer('A page', History), ...refusals({ 403: 'Not a registered user' }) },
    handler: (context) => list(options, context),
  };
}

async function list(options: HistoryOptions, context: RequestContext): Promise<void> {
  const { userId, signal } = context;
  const { roles } = await actorOf(options, context);
  const page = pageOf(context.query, DEFAULT_LIMIT);
  const { rows, items } = await options.history.list(roles.isOwner ? 'all' : { managedBy: userId }, page, signal);
  await jsonReport(context, {
    head: { meta: { rows, offset: page.offset } },
    name: 'results',
    items: shown(items, options.accounts, signal),
  });
}

async function* shown(
  batches: AsyncIterable<readonly HistoryEntry[]>,
  accounts: HistoryOptions['accounts'],
  signal: AbortSignal,
): AsyncGenerator<object, void, undefined> {
  for await (const batch of batches) {
    const ids = batch.flatMap((entry) => (entry.cause === '0' ? [entry.userId] : [entry.userId, entry.cause]));
    const user = await showUsers(accounts, ids, signal);
    for (const entry of batch) yield show(entry, user);
  }
}

function show({ cause, action, at, endUserId, userId, datasetId, terms }: HistoryEntry, user: ShowUser): object {
  return {
    cause: { user: historyUser(cause, user), action, timestamp: dateTimeOnly(at) },
    row: {
      endUserID: endUserId,
      user: historyUser(userId, user),
      datasetPresenterID: datasetId,
      restrictionLevel: terms.restrictionLevel.toUpperCase(),
      approvalStatus: terms.approvalStatus.toUpperCase(),
      startDate: dateTimeOnly(terms.startDate),
      duration: terms.durationDays,
      purpose: terms.purpose,
      researchQuestion: terms.researchQuestion,
      analysisPlan: terms.analysisPlan,
      priorAuth: terms.priorAuth,
      denialReason: terms.denialReason,
      ...(terms.dateDenied ? { dateDenied: dateTimeOnly(terms.dateDenied) } : {}),
      allowSelfEdits: terms.approvalStatus === 'requested',
    },
  };
}

function historyUser(id: UserId | '0', user: ShowUser): object {
  if (id === '0') return { userID: id, firstName: 'system', lastName: '', email: '', organization: '' };
  const { firstName, lastName, email, organization } = user(id);
  return { userID: id, firstName, lastName, email, organization };
}
