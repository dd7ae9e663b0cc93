// The caller, with the roles that decide what the caller may do. Roles are looked up before anything else, so that a refusal
// does not reveal what exists.

import type { CuratedId } from '../../engine/model/access-request.ts';
import type { UserId } from '../../engine/model/ids.ts';
import type { AccessRoles, Cause, Roles } from '../../engine/ports/access-people.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { forbidden } from '../kernel/pipeline/errors.ts';
import type { Created, KeyedRequest } from '../kernel/pipeline/idempotency.ts';
import type { AskedDatasetOptions } from './asked-dataset.ts';

export interface Actor {
  /** Undefined for callers with the Admin-Token, and for guests, who may change nothing. */
  readonly userId: UserId | undefined;
  readonly roles: Roles;
}

export interface ActorOptions extends AskedDatasetOptions {
  readonly roles: AccessRoles;
}

const ADMINISTRATOR: Actor = {
  userId: undefined,
  roles: { isStaff: true, isOwner: true, isProvider: true, isManager: true },
};

const NOBODY: Actor = {
  userId: undefined,
  roles: { isStaff: false, isOwner: false, isProvider: false, isManager: false },
};

/** The user's id; undefined for a guest, whose id may be that of a user. */
export const registered = ({ caller }: RequestContext): UserId | undefined =>
  caller.kind === 'user' ? caller.userId : undefined;

/** @param dataset the dataset to look up roles for; undefined = only roles at the site */
export async function actorOf(
  { roles }: Pick<ActorOptions, 'roles'>,
  context: RequestContext,
  dataset?: CuratedId,
): Promise<Actor> {
  if (context.caller.kind === 'admin') return { ...ADMINISTRATOR, userId: context.caller.operator?.userId };
  const userId = registered(context);
  if (userId === undefined) return NOBODY;
  return { userId, roles: await roles.roles(userId, dataset, context.signal) };
}

/** The cause that is recorded with a change by this actor. */
export const causeOf = ({ userId }: Actor, clock: Clock): Cause => ({ user: userId ?? '0', at: new Date(clock.now()) });

/** The cause of a creation, with which the answer is stored if the request has a key. */
export const creating = (
  cause: Cause,
  keyed: KeyedRequest | undefined,
  answer: (created: number | true) => Created,
): Cause => (keyed ? { ...cause, keyed: (created) => keyed.seal(answer(created)) } : cause);

export function demandStaff({ roles }: Actor): void {
  if (!roles.isStaff) throw forbidden('only staff may do this');
}

export function demandOwner({ roles }: Actor): void {
  if (!roles.isOwner) throw forbidden('only site owners may do this');
}

/** True for site owners, and for managers of the dataset that the roles are for. */
export const governs = ({ roles }: Actor): boolean => roles.isOwner || roles.isManager;

export function demandGoverning(actor: Actor): void {
  if (!governs(actor)) throw forbidden('only site owners and managers of the dataset may do this');
}
