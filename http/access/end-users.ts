// /dataset-end-users: lists, reads, changes and removes access requests. The id names person and dataset. Permission is decided
// by the id alone, before the request is looked up, so that a refusal does not reveal whether it exists. POST
// /approve-eligible-access-requests approves requests whose waiting time is over; a timer does the same.

import {
  type AccessRequest,
  APPROVAL_STATUSES,
  type ApprovalStatus,
  formatEndUserId,
  type RequestKey,
} from '../../engine/model/access-request.ts';
import type { UserId } from '../../engine/model/ids.ts';
import type { Accounts } from '../../engine/ports/access-people.ts';
import type { AccessApprovals, EndUsers } from '../../engine/ports/access-requests.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { Type } from '../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { badRequest, forbidden, type HttpError, notFound } from '../kernel/pipeline/errors.ts';
import { answer, type Route, refusals } from '../kernel/pipeline/route.ts';
import { type Actor, type ActorOptions, actorOf, causeOf, governs } from './actor.ts';
import { askedDataset, askedRequest } from './asked-dataset.ts';
import { level, PatchItems, paged, readPatch, User } from './bodies.ts';
import { decidePatch } from './end-user-patch.ts';
import { emptyListing, pageOf, pageParameters, type ShownUser, sendPage, showUsers } from './people.ts';

const EndUser = Type.Named('EndUser', {
  user: User,
  datasetId: Type.String(),
  startDate: Type.Optional(Type.String({ format: 'date-time' })),
  duration: Type.Optional(Type.Integer({ format: 'int64', description: 'Days; -1 for no end' })),
  restrictionLevel: level,
  purpose: Type.String(),
  researchQuestion: Type.String(),
  analysisPlan: Type.String(),
  disseminationPlan: Type.String(),
  approvalStatus: Type.Enum([...APPROVAL_STATUSES]),
  denialReason: Type.Optional(Type.String()),
  priorAuth: Type.String(),
});
const EndUserList = paged(EndUser);

const showRequest = (request: AccessRequest, user: (id: UserId) => ShownUser): object => ({
  user: user(request.userId),
  datasetId: request.datasetId,
  startDate: request.startDate.toISOString(),
  duration: request.durationDays,
  restrictionLevel: request.restrictionLevel,
  purpose: request.purpose,
  researchQuestion: request.researchQuestion,
  analysisPlan: request.analysisPlan,
  disseminationPlan: request.disseminationPlan,
  approvalStatus: request.approvalStatus,
  ...(request.denialReason === '' ? {} : { denialReason: request.denialReason }),
  priorAuth: request.priorAuth,
});

/** Differs after each change, and for a request that was removed and created again. */
const requestTag = ({ id, version }: AccessRequest): string => `"${id}.${version}"`;

export interface EndUsersOptions extends ActorOptions {
  readonly endUsers: EndUsers;
  readonly accounts: Pick<Accounts, 'find'>;
}

const DEFAULT_LIMIT = 100;

export function endUserRoutes(options: EndUsersOptions): readonly Route[] {
  const access = 'user';
  const path = '/dataset-end-users/:id';
  const params = {
    id: { description: 'User id, a dash and the dataset id', schema: { type: 'string', pattern: '^\\d+-\\w+$' } },
  };
  const ifMatch = {
    'If-Match': { description: 'ETag of the access request that the caller has', schema: { type: 'string' } },
  };
  const absent404 = { 404: 'No such request' };
  return [
    {
      method: 'GET',
      audit: 'none',
      path: '/dataset-end-users',
      access,
      operationId: 'listEndUsers',
      summary: 'Lists access requests for a dataset, ordered by user',
      query: {
        datasetId: { description: 'Dataset id; required unless the caller is an owner', schema: { type: 'string' } },
        approval: {
          description: 'Only requests with this status',
          schema: { type: 'string', enum: [...APPROVAL_STATUSES] },
        },
        ...pageParameters(DEFAULT_LIMIT),
      },
      responses: {
        200: answer('A page', EndUserList),
        ...refusals({ 403: 'Neither staff nor a provider of the dataset' }),
      },
      handler: (context) => list(options, context),
    },
    {
      method: 'GET',
      audit: 'none',
      path,
      access,
      operationId: 'getEndUser',
      summary: 'Shows an access request',
      params,
      responses: {
        200: answer('The request', EndUser),
        304: { description: 'Not modified: the caller has the current version' },
        ...refusals({
          ...absent404,
          403: "Not the caller's own request, and neither staff nor a provider of the dataset",
        }),
      },
      handler: async (context) => {
        const { key, actor } = await addressed(options, context);
        if (!isOwn(actor, key) && !actor.roles.isStaff && !actor.roles.isProvider) throw notTheirs(key);
        const request = await options.endUsers.find(key, context.signal);
        if (!request) throw absent(context);
        const user = await showUsers(options.accounts, [key.userId], context.signal);
        await context.json(200, showRequest(request, user), { etag: requestTag(request) });
      },
    },
    {
      method: 'PATCH',
      path,
      access,
      operationId: 'patchEndUser',
      summary: 'Changes an access request; applies all items or none',
      params,
      headers: ifMatch,
      body: { description: 'Changes to apply', content: { 'application/json': { ...PatchItems } } },
      responses: {
        204: { description: 'Changed, or nothing to change' },
        ...refusals({
          ...absent404,
          400: 'The body is not a list of items',
          403: 'The caller may not do this: path, operation or request',
          412: 'The request is not the one that If-Match names',
          415: 'The body is not JSON',
          422: 'A value is not accepted, or the status cannot become this',
        }),
      },
      handler: (context) => patch(options, context),
    },
    {
      method: 'DELETE',
      path,
      access,
      operationId: 'removeEndUser',
      summary: 'Removes a request or grant; the requester may withdraw it unless it is approved',
      params,
      responses: {
        204: { description: 'Removed' },
        ...refusals({ ...absent404, 403: 'The caller may not do this' }),
      },
      handler: (context) => remove(options, context),
    },
  ];
}

async function list(options: EndUsersOptions, context: RequestContext): Promise<void> {
  const asked = String(context.query.datasetId ?? '').trim();
  const dataset = (await askedDataset(options, asked, context.signal))?.id;
  const { roles } = await actorOf(options, context, dataset);
  if (asked === '' && !roles.isOwner) throw badRequest("query parameter 'datasetId' is missing");
  if (!roles.isStaff && !roles.isProvider) throw forbidden("only staff and the dataset's providers may see this");
  const status = context.query.approval as ApprovalStatus | undefined;
  const request = pageOf(context.query, DEFAULT_LIMIT);
  // There are no rows for the status `unrequested`, and none for an id that no dataset can have.
  const none = status === 'unrequested' || (asked !== '' && !dataset);
  const filter = { ...request, ...(dataset ? { dataset } : {}), ...(none || !status ? {} : { status }) };
  const page = none ? emptyListing() : await options.endUsers.list(filter, context.signal);
  await sendPage(context, page, options.accounts, request.offset, showRequest);
}

async function patch(options: EndUsersOptions, context: RequestContext): Promise<void> {
  const { key, actor } = await addressed(options, context);
  const own = isOwn(actor, key);
  if (!own && !governs(actor)) throw notTheirs(key);
  const items = await readPatch(context.request);
  const cause = causeOf(actor, options.clock);
  const found = await options.endUsers.change(
    key,
    cause,
    (now) => {
      context.requireMatch(requestTag(now));
      return decidePatch(items, now, own ? 'requester' : 'governor', cause.at);
    },
    context.signal,
  );
  if (!found) throw absent(context);
  context.empty(204);
}

async function remove(options: EndUsersOptions, context: RequestContext): Promise<void> {
  const { key, actor } = await addressed(options, context);
  if (!isOwn(actor, key) && !governs(actor)) throw notTheirs(key);
  const mayStay = (now: AccessRequest): void => {
    if (governs(actor) || now.approvalStatus !== 'approved') return;
    throw forbidden('an approved request is removed by site owners and managers of the dataset only');
  };
  const found = await options.endUsers.remove(key, causeOf(actor, options.clock), mayStay, context.signal);
  if (!found) throw absent(context);
  context.empty(204);
}

/** The key of the request in the path, and the caller with the roles for its dataset. */
async function addressed(
  options: EndUsersOptions,
  context: RequestContext,
): Promise<{ readonly key: RequestKey; readonly actor: Actor }> {
  const key = await askedRequest(options, context.param('id'), context.signal);
  // This reveals nothing: no request can have such an id.
  if (!key) throw absent(context);
  return { key, actor: await actorOf(options, context, key.datasetId) };
}

const isOwn = ({ userId }: Actor, key: RequestKey): boolean => userId === key.userId;

const notTheirs = (key: RequestKey): HttpError =>
  forbidden(`request ${formatEndUserId(key)} is the business of others`);

const absent = (context: RequestContext): HttpError =>
  notFound(`there is no request '${context.param('id').slice(0, 96)}'`);

export interface ApprovalsOptions {
  readonly approvals: AccessApprovals;
  readonly clock: Clock;
}

export function approvalsRoute({ approvals, clock }: ApprovalsOptions): Route {
  return {
    method: 'POST',
    servedWhenFull: true,
    path: '/approve-eligible-access-requests',
    access: 'admin',
    operationId: 'approveEligibleAccessRequests',
    summary: 'Approves requests whose waiting time has passed',
    responses: { 204: { description: 'Done' }, ...refusals({ 403: 'The Admin-Token is wrong' }) },
    handler: async (context) => {
      const approved = await approvals.approveWaited(new Date(clock.now()), context.signal);
      context.log.info({ approved }, 'requests were approved after their waiting time, on demand');
      context.empty(204);
    },
  };
}
