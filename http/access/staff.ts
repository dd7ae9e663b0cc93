// /staff: who works at the site. Staff see the list, owners change it. The administrator's token counts as an owner's, so that
// a first owner can be added. The last owner cannot be removed.

import type { Static } from 'typebox';
import { parseUserId } from '../../engine/model/ids.ts';
import type { AccessStaff, Accounts, Cause, StaffChange } from '../../engine/ports/access-people.ts';
import { jsonBody, type ReadBody } from '../kernel/bodies/body.ts';
import { describeValue } from '../kernel/input/describe.ts';
import { Type } from '../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { conflict, notFound } from '../kernel/pipeline/errors.ts';
import type { Created } from '../kernel/pipeline/idempotency.ts';
import { answer, type Route, refusals } from '../kernel/pipeline/route.ts';
import { type ActorOptions, actorOf, causeOf, creating, demandOwner, demandStaff } from './actor.ts';
import { documented, id, PatchItems, paged, readFlagPatch, User } from './bodies.ts';
import { pageOf, pageParameters, rowId, sendPage } from './people.ts';

const NewStaff = Type.Named('NewStaff', { userId: Type.Unknown(), isOwner: Type.Boolean() });

const StaffList = paged(Type.Object({ staffId: id, user: User, isOwner: Type.Boolean() }));
const StaffCreated = Type.Named('StaffCreated', { staffId: id });

export interface StaffOptions extends ActorOptions {
  readonly staff: AccessStaff;
  readonly accounts: Pick<Accounts, 'find'>;
}

const DEFAULT_LIMIT = 1_000;

export function staffRoutes(options: StaffOptions): readonly Route[] {
  const readNew = jsonBody(NewStaff);
  const access = 'user-or-admin';
  const one = { params: { id: { description: 'The staff entry', schema: { type: 'integer', format: 'int64' } } } };
  const changes = {
    403: 'Not a site owner',
    404: 'No such staff entry',
    409: 'It is the last site owner',
  };
  return [
    {
      method: 'GET',
      audit: 'none',
      path: '/staff',
      access,
      operationId: 'listStaff',
      summary: 'Lists staff of the site, ordered by id',
      query: pageParameters(DEFAULT_LIMIT),
      responses: { 200: answer('A page', StaffList), ...refusals({ 403: 'Not staff' }) },
      handler: (context) => list(options, context),
    },
    {
      method: 'POST',
      path: '/staff',
      access,
      keyed: true,
      operationId: 'addStaff',
      summary: 'Adds a user to the staff',
      body: { description: 'The user', content: { 'application/json': documented(NewStaff) } },
      responses: {
        200: answer('Added', StaffCreated),
        ...refusals({
          400: 'The body is not a JSON object',
          403: 'Not a site owner',
          409: 'The user is staff already',
          415: 'The body is not JSON',
          422: 'Values are not accepted',
        }),
      },
      handler: async (context) => {
        const actor = await actorOf(options, context);
        demandOwner(actor);
        const { body, given, faults } = await readNew(context.request);
        await context.onceFor(given, (keyed) => {
          const cause = creating(causeOf(actor, options.clock), keyed, created);
          return add(options, { body, faults }, cause, context.signal);
        });
      },
    },
    {
      method: 'PATCH',
      path: '/staff/:id',
      access,
      operationId: 'patchStaff',
      summary: "Grants or removes a staff member's owner role",
      ...one,
      body: { description: 'replace of /isOwner', content: { 'application/json': { ...PatchItems } } },
      responses: {
        204: { description: 'Changed' },
        ...refusals({
          ...changes,
          400: 'The body is not a list of items',
          415: 'The body is not JSON',
          422: 'Only replace of /isOwner is accepted',
        }),
      },
      handler: async (context) => {
        const actor = await actorOf(options, context);
        demandOwner(actor);
        const isOwner = await readFlagPatch(context.request, '/isOwner');
        const id = rowId(context, 'id');
        const cause = causeOf(actor, options.clock);
        answerChange(context, id && (await options.staff.setOwner(id, isOwner, cause, context.signal)));
      },
    },
    {
      method: 'DELETE',
      path: '/staff/:id',
      access,
      operationId: 'removeStaff',
      summary: 'Removes a staff member',
      ...one,
      responses: { 204: { description: 'Removed' }, ...refusals(changes) },
      handler: async (context) => {
        const actor = await actorOf(options, context);
        demandOwner(actor);
        const id = rowId(context, 'id');
        answerChange(context, id && (await options.staff.remove(id, causeOf(actor, options.clock), context.signal)));
      },
    },
  ];
}

const created = (staffId: number | true): Created => ({ code: 200, body: { staffId } });

async function add(
  { staff }: StaffOptions,
  { body, faults }: Pick<ReadBody<Static<typeof NewStaff>>, 'body' | 'faults'>,
  cause: Cause,
  signal: AbortSignal,
): Promise<Created> {
  const userId = parseUserId(String(body.userId));
  if (!userId && !faults.touches('userId'))
    faults.add(['userId'], `is ${describeValue(body.userId)}; a whole number from 1 is required`);
  if (!faults.empty || !userId) throw faults.refusal();
  const staffId = await staff.add(userId, body.isOwner === true, cause, signal);
  if (staffId === undefined) throw conflict(`user ${userId} is staff already`);
  return created(staffId);
}

async function list(options: StaffOptions, context: RequestContext): Promise<void> {
  demandStaff(await actorOf(options, context));
  const request = pageOf(context.query, DEFAULT_LIMIT);
  const page = await options.staff.list(request, context.signal);
  await sendPage(context, page, options.accounts, request.offset, ({ staffId, userId, isOwner }, user) => ({
    ...{ staffId, user: user(userId), isOwner },
  }));
}

function answerChange(context: RequestContext, change: StaffChange | undefined | 0): void {
  if (change === 'last-owner') throw conflict(`staff entry ${context.param('id')} is the last site owner`);
  if (change !== 'changed') throw notFound(`there is no staff entry '${context.param('id').slice(0, 64)}'`);
  context.empty(204);
}
