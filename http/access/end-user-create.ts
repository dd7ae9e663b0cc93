// POST /dataset-end-users: users request access for themselves; site owners and managers of a dataset enter others. Permission
// is checked before a mail address is looked up, so that an unauthorized caller cannot cause a mail.

import { addressKey } from '../../engine/model/access-mail.ts';
import {
  keptDuration,
  REQUEST_STATUSES,
  type RequestTerms,
  type RestrictionLevel,
  settleTerms,
} from '../../engine/model/access-request.ts';
import type { UserId } from '../../engine/model/ids.ts';
import type { AccessCatalogue } from '../../engine/ports/access-datasets.ts';
import type { AccessInvitations, AddressBook } from '../../engine/ports/access-people.ts';
import type { EndUsers } from '../../engine/ports/access-requests.ts';
import { jsonBody } from '../kernel/bodies/body.ts';
import { describeValue } from '../kernel/input/describe.ts';
import type { Faults } from '../kernel/input/faults.ts';
import { Type } from '../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { conflict, forbidden } from '../kernel/pipeline/errors.ts';
import type { Created, KeyedRequest } from '../kernel/pipeline/idempotency.ts';
import { answer, type Route, refusals } from '../kernel/pipeline/route.ts';
import { type ActorOptions, actorOf, causeOf, creating, demandGoverning } from './actor.ts';
import { askedDataset, isAskable } from './asked-dataset.ts';
import { CLOSED, documented, level, parseDate, text } from './bodies.ts';
import { findInvitee, type Invitee, readInvitee } from './people.ts';
import { unknownDataset, writtenToday } from './providers.ts';

const NewEndUser = Type.Named(
  'NewEndUser',
  {
    userId: Type.Optional(Type.Unknown()),
    email: Type.Optional(Type.String()),
    datasetId: Type.String(),
    purpose: text,
    researchQuestion: text,
    analysisPlan: text,
    disseminationPlan: text,
    priorAuth: text,
    startDate: Type.Optional(Type.String()),
    duration: Type.Optional(Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })),
    restrictionLevel: Type.Optional(level),
    approvalStatus: Type.Optional(Type.Enum([...REQUEST_STATUSES])),
    denialReason: Type.Optional(text),
  },
  CLOSED,
);
const EndUserCreated = Type.Named('EndUserCreated', {
  created: Type.Boolean(),
  endUserId: Type.Optional(Type.String()),
});

export interface EndUserCreateOptions extends ActorOptions {
  readonly catalogue: Pick<AccessCatalogue, 'find'>;
  readonly endUsers: Pick<EndUsers, 'create'>;
  readonly invitations: Pick<AccessInvitations, 'invite'>;
  readonly addresses: AddressBook;
}

type Body = Partial<Awaited<ReturnType<ReturnType<typeof reader>>>['body']>;
const reader = () => jsonBody(NewEndUser);

/** Fields that a requester may not set. */
const DECIDED_BY_OTHERS = ['startDate', 'restrictionLevel', 'approvalStatus', 'denialReason'] as const;

export function endUserCreateRoute(options: EndUserCreateOptions): Route {
  const read = reader();
  return {
    method: 'POST',
    path: '/dataset-end-users',
    access: 'user',
    keyed: true,
    operationId: 'addEndUser',
    summary: 'Requests access to a dataset, for oneself or another person',
    body: {
      description: 'Recipient (user id or email address), dataset and reasons',
      content: { 'application/json': documented(NewEndUser) },
    },
    responses: {
      200: answer('Made, or, where nobody has the address, invited by mail', EndUserCreated),
      ...refusals({
        400: 'The body is not a JSON object',
        403: 'For another: neither a site owner nor a manager of the dataset. For oneself: a field that others decide',
        409: 'The person has a request for the dataset already',
        415: 'The body is not JSON',
        422: 'Values are not accepted',
        429: 'The address was written to within the last day',
      }),
    },
    handler: async (context) => {
      const { body, given, faults } = await read(context.request);
      await context.onceFor(given, (keyed) => create(options, context, { body, faults }, keyed));
    },
  };
}

async function create(
  options: EndUserCreateOptions,
  context: RequestContext,
  { body, faults }: { readonly body: Body; readonly faults: Faults },
  keyed: KeyedRequest | undefined,
): Promise<Created> {
  const { signal } = context;
  const invitee = readInvitee(body, faults);
  const asked = await askedDataset(options, body.datasetId ?? '', signal);
  const datasetId = asked?.id;
  const actor = await actorOf(options, context, datasetId);
  const forSelf = invitee !== undefined && isSelf(invitee, context);
  if (invitee && !forSelf) demandGoverning(actor);
  const found = datasetId && (await options.catalogue.find(datasetId, signal));
  const dataset = asked && found && isAskable(asked, found) ? found : undefined;
  if (!dataset && !faults.touches('datasetId')) faults.add(['datasetId'], unknownDataset(body.datasetId));
  const now = new Date(options.clock.now());
  const startDate = body.startDate === undefined ? now : parseDate(body.startDate);
  if (!startDate) faults.add(['startDate'], `is ${describeValue(body.startDate)}; a date of ISO 8601 is required`);
  if (forSelf) demandUndecided(body);
  if (!faults.empty || !invitee || !dataset || !startDate) throw faults.refusal();

  const cause = causeOf(actor, options.clock);
  const person = forSelf ? context.userId : await findInvitee(invitee, options.addresses, faults, signal);
  // The address may belong to the caller's own account although the token has another one.
  const ownTerms = forSelf || person === context.userId;
  if (ownTerms) demandUndecided(body);
  const wanted = ownTerms ? askedTerms(body, dataset.restrictionLevel, now) : givenTerms(body, startDate);
  const terms = settleTerms(undefined, wanted, now);
  if (person !== undefined)
    return makeRequest(options, context, { userId: person, datasetId: dataset.datasetId }, terms, keyed);
  if (!('email' in invitee)) throw faults.refusal();
  context.concerns({ dataset: dataset.datasetId });
  const invitation = { kind: 'end-user', email: invitee.email, datasetId: dataset.datasetId, terms } as const;
  const inviting = creating(cause, keyed, () => invited);
  if (!(await options.invitations.invite(invitation, inviting, signal))) throw writtenToday();
  return invited;
}

const invited: Created = { code: 200, body: { created: false } };

async function makeRequest(
  options: EndUserCreateOptions,
  context: RequestContext,
  key: Parameters<EndUsers['create']>[0],
  terms: Parameters<EndUsers['create']>[1],
  keyed: KeyedRequest | undefined,
): Promise<Created> {
  context.concerns({ dataset: key.datasetId, records: { user: key.userId } });
  const made = { code: 200, body: { created: true, endUserId: `${key.userId}-${key.datasetId}` } };
  const cause = creating({ user: context.userId, at: new Date(options.clock.now()) }, keyed, () => made);
  if (!(await options.endUsers.create(key, terms, cause, context.signal)))
    throw conflict(`user ${key.userId} has a request for dataset ${key.datasetId} already`);
  context.log.info({ user: key.userId, dataset: key.datasetId, status: terms.approvalStatus }, 'access request made');
  return made;
}

function isSelf(invitee: Invitee, { caller, userId }: RequestContext): boolean {
  if ('userId' in invitee) return invitee.userId === (userId satisfies UserId);
  const own = caller.kind === 'user' ? caller.profile.email : '';
  const key = addressKey(own);
  return own !== '' && key !== undefined && addressKey(invitee.email) === key;
}

function demandUndecided(body: Body): void {
  const decided = DECIDED_BY_OTHERS.find((field) => body[field] !== undefined);
  // Forms send zero when no duration was entered.
  const field = decided ?? (body.duration ? 'duration' : undefined);
  if (field !== undefined) throw forbidden(`'${field}' of an own request is decided by others`);
}

const texts = (
  body: Body,
): Pick<RequestTerms, 'purpose' | 'researchQuestion' | 'analysisPlan' | 'disseminationPlan' | 'priorAuth'> => ({
  purpose: body.purpose ?? '',
  researchQuestion: body.researchQuestion ?? '',
  analysisPlan: body.analysisPlan ?? '',
  disseminationPlan: body.disseminationPlan ?? '',
  priorAuth: body.priorAuth ?? '',
});

const askedTerms = (body: Body, restrictionLevel: RestrictionLevel, now: Date): RequestTerms => ({
  ...texts(body),
  restrictionLevel,
  approvalStatus: 'requested',
  startDate: now,
  durationDays: keptDuration(0),
  denialReason: '',
});

const givenTerms = (body: Body, startDate: Date): RequestTerms => ({
  ...texts(body),
  restrictionLevel: body.restrictionLevel ?? 'public',
  approvalStatus: body.approvalStatus ?? 'requested',
  startDate,
  durationDays: keptDuration(body.duration ?? 0),
  denialReason: body.denialReason ?? '',
});
