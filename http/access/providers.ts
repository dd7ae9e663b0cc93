// /dataset-providers: who provides which dataset. Staff and the dataset's providers see the list; owners and the dataset's
// managers change it.

import type { Static } from 'typebox';
import type { AccessCatalogue } from '../../engine/ports/access-datasets.ts';
import type { AccessInvitations, AccessProviders, Accounts, AddressBook } from '../../engine/ports/access-people.ts';
import { jsonBody, type ReadBody } from '../kernel/bodies/body.ts';
import { describeValue } from '../kernel/input/describe.ts';
import { Type } from '../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { badRequest, conflict, forbidden, notFound, tooMany } from '../kernel/pipeline/errors.ts';
import type { Created, KeyedRequest } from '../kernel/pipeline/idempotency.ts';
import { answer, type Route, refusals } from '../kernel/pipeline/route.ts';
import { type Actor, type ActorOptions, actorOf, causeOf, creating, demandGoverning } from './actor.ts';
import { askedDataset, isAskable } from './asked-dataset.ts';
import { CLOSED, documented, id, PatchItems, paged, readFlagPatch, User } from './bodies.ts';
import { emptyListing, findInvitee, pageOf, pageParameters, readInvitee, rowId, sendPage } from './people.ts';

const NewProvider = Type.Named(
  'NewProvider',
  {
    datasetId: Type.String(),
    userId: Type.Optional(Type.Unknown()),
    email: Type.Optional(Type.String()),
    isManager: Type.Boolean(),
  },
  CLOSED,
);

const ProviderList = paged(
  Type.Object({ providerId: id, datasetId: Type.String(), user: User, isManager: Type.Boolean() }),
);
const ProviderCreated = Type.Named('ProviderCreated', { created: Type.Boolean(), providerId: Type.Optional(id) });

export interface ProvidersOptions extends ActorOptions {
  readonly catalogue: Pick<AccessCatalogue, 'find'>;
  readonly providers: AccessProviders;
  readonly invitations: Pick<AccessInvitations, 'invite'>;
  readonly addresses: AddressBook;
  readonly accounts: Pick<Accounts, 'find'>;
}

const DEFAULT_LIMIT = 1_000;
const DAY_SECONDS = 86_400;

export function providerRoutes(options: ProvidersOptions): readonly Route[] {
  const access = 'user';
  const one = { params: { id: { description: 'The provider', schema: { type: 'integer', format: 'int64' } } } };
  const refused = { 403: "Neither a site owner nor one of the dataset's managers", 404: 'No such provider' };
  return [
    {
      method: 'GET',
      audit: 'none',
      path: '/dataset-providers',
      access,
      operationId: 'listProviders',
      summary: 'Lists providers of a dataset, ordered by id',
      query: {
        datasetId: { description: 'The dataset', required: true, schema: { type: 'string' } },
        ...pageParameters(DEFAULT_LIMIT),
      },
      responses: {
        200: answer('A page', ProviderList),
        ...refusals({ 403: 'Neither staff nor a provider of the dataset' }),
      },
      handler: (context) => list(options, context),
    },
    createRoute(options),
    {
      method: 'PATCH',
      path: '/dataset-providers/:id',
      access,
      operationId: 'patchProvider',
      summary: "Grants or removes a provider's manager role",
      ...one,
      body: { description: 'replace of /isManager', content: { 'application/json': { ...PatchItems } } },
      responses: {
        204: { description: 'Changed' },
        ...refusals({
          ...refused,
          400: 'The body is not a list of items',
          415: 'The body is not JSON',
          422: 'Only replace of /isManager is accepted',
        }),
      },
      handler: async (context) => {
        const { actor, id } = await governed(options, context);
        const isManager = await readFlagPatch(context.request, '/isManager');
        const cause = causeOf(actor, options.clock);
        if (!id || !(await options.providers.setManager(id, isManager, cause, context.signal))) throw absent(context);
        context.empty(204);
      },
    },
    {
      method: 'DELETE',
      path: '/dataset-providers/:id',
      access,
      operationId: 'removeProvider',
      summary: 'Removes a provider',
      ...one,
      responses: { 204: { description: 'Removed' }, ...refusals(refused) },
      handler: async (context) => {
        const { actor, id } = await governed(options, context);
        const cause = causeOf(actor, options.clock);
        if (!id || !(await options.providers.remove(id, cause, context.signal))) throw absent(context);
        context.empty(204);
      },
    },
  ];
}

function createRoute(options: ProvidersOptions): Route {
  const readNew = jsonBody(NewProvider);
  return {
    method: 'POST',
    path: '/dataset-providers',
    access: 'user',
    keyed: true,
    operationId: 'addProvider',
    summary: 'Adds a provider to a dataset',
    body: {
      description: 'Person (user id or email address) and dataset',
      content: { 'application/json': documented(NewProvider) },
    },
    responses: {
      200: answer('Added, or, where nobody has the address, invited by mail', ProviderCreated),
      ...refusals({
        400: 'The body is not a JSON object',
        403: "Neither a site owner nor one of the dataset's managers",
        409: 'The user provides the dataset already',
        415: 'The body is not JSON',
        422: 'Values are not accepted',
        429: 'The address was written to within the last day',
      }),
    },
    handler: async (context) => {
      const { body, given, faults } = await readNew(context.request);
      await context.onceFor(given, (keyed) => add(options, context, { body, faults }, keyed));
    },
  };
}

const invited: Created = { code: 200, body: { created: false } };
const added = (providerId: number | true): Created => ({ code: 200, body: { created: true, providerId } });

async function add(
  options: ProvidersOptions,
  context: RequestContext,
  { body, faults }: Pick<ReadBody<Static<typeof NewProvider>>, 'body' | 'faults'>,
  keyed: KeyedRequest | undefined,
): Promise<Created> {
  const invitee = readInvitee(body, faults);
  const asked = await askedDataset(options, body.datasetId ?? '', context.signal);
  const datasetId = asked?.id;
  const actor = await actorOf(options, context, datasetId);
  demandGoverning(actor);
  const dataset = datasetId && (await options.catalogue.find(datasetId, context.signal));
  if (!asked || !dataset || !isAskable(asked, dataset))
    if (!faults.touches('datasetId')) faults.add(['datasetId'], unknownDataset(body.datasetId));
  if (!faults.empty || !invitee || !datasetId) throw faults.refusal();
  const isManager = body.isManager === true;
  const cause = causeOf(actor, options.clock);
  const userId = await findInvitee(invitee, options.addresses, faults, context.signal);
  if (userId === undefined && 'email' in invitee) {
    const invitation = { kind: 'provider', email: invitee.email, datasetId, isManager } as const;
    const inviting = creating(cause, keyed, () => invited);
    if (!(await options.invitations.invite(invitation, inviting, context.signal))) throw writtenToday();
    return invited;
  }
  if (userId === undefined) throw faults.refusal();
  const provider = { userId, datasetId, isManager };
  const providerId = await options.providers.add(provider, creating(cause, keyed, added), context.signal);
  if (providerId === undefined) throw conflict(`user ${userId} is a provider of dataset ${datasetId} already`);
  return added(providerId);
}

export const unknownDataset = (given: unknown): string => `is ${describeValue(given)}, which is no dataset here`;

export const writtenToday = () => tooMany('this address was written to within the last day', DAY_SECONDS);

async function list(options: ProvidersOptions, context: RequestContext): Promise<void> {
  const asked = String(context.query.datasetId ?? '').trim();
  if (asked === '') throw badRequest("query parameter 'datasetId' is missing");
  const dataset = (await askedDataset(options, asked, context.signal))?.id;
  const { roles } = await actorOf(options, context, dataset);
  if (!roles.isStaff && !roles.isProvider) throw forbidden("only staff and the dataset's providers may see this");
  const request = pageOf(context.query, DEFAULT_LIMIT);
  const page = dataset ? await options.providers.list(dataset, request, context.signal) : emptyListing();
  await sendPage(context, page, options.accounts, request.offset, (item, user) => ({
    ...{ providerId: item.providerId, datasetId: item.datasetId, user: user(item.userId), isManager: item.isManager },
  }));
}

/** The provider in the path. Callers who do not govern its dataset get 403, whether or not it exists. */
async function governed(
  options: ProvidersOptions,
  context: RequestContext,
): Promise<{ readonly actor: Actor; readonly id: number | undefined }> {
  const id = rowId(context, 'id');
  const found = id === undefined ? undefined : await options.providers.find(id, context.signal);
  const actor = await actorOf(options, context, found?.datasetId);
  demandGoverning(actor);
  return { actor, id };
}

const absent = (context: RequestContext): Error =>
  notFound(`there is no provider '${context.param('id').slice(0, 64)}'`);
