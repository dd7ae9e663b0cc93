// People: how users are shown, pages of lists about them, and invitations. A user without a known account has an id and empty
// names.

import { Readable } from 'node:stream';
import { isEmail } from '../../engine/model/access-mail.ts';
import { parseUserId, type UserId } from '../../engine/model/ids.ts';
import type {
  AccessInvitations,
  Accounts,
  AddressBook,
  Listing,
  PageRequest,
  Profile,
} from '../../engine/ports/access-people.ts';
import { messageOf } from '../../engine/runtime/failure.ts';
import { flattened, mapped } from '../../engine/runtime/items.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { jsonReport } from '../kernel/answers/json-text.ts';
import type { AuthSettings } from '../kernel/auth/authenticate.ts';
import { describeValue } from '../kernel/input/describe.ts';
import type { Faults } from '../kernel/input/faults.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import type { Query } from '../kernel/pipeline/query.ts';

export interface ShownUser {
  readonly userId: UserId;
  readonly firstName: string;
  readonly lastName: string;
  readonly organization: string;
  readonly email: string;
}

type ShownAccounts = Pick<Accounts, 'find'>;

export type ShowUser = (id: UserId) => ShownUser;

/** The largest number of ids that the port takes. */
const AT_ONCE = 1_000;

/** Returns a function that shows any of these users. */
export async function showUsers(
  accounts: ShownAccounts,
  ids: readonly UserId[],
  signal: AbortSignal,
): Promise<ShowUser> {
  const wanted = [...new Set(ids)];
  const profiles = new Map<UserId, Profile>();
  for (let i = 0; i < wanted.length; i += AT_ONCE)
    for (const [id, profile] of await accounts.find(wanted.slice(i, i + AT_ONCE), signal)) profiles.set(id, profile);
  return (userId) => {
    const profile = profiles.get(userId);
    return {
      userId,
      firstName: profile?.firstName ?? '',
      lastName: profile?.lastName ?? '',
      organization: profile?.affiliation ?? '',
      email: profile?.email ?? '',
    };
  };
}

/** Larger numbers would lose digits. */
const MAX = Number.MAX_SAFE_INTEGER;
/** No page is longer, whatever the request says; `rows` has the real length. */
const LONGEST_PAGE = 10_000;

/** @param maximum a larger limit is refused */
export const pageParameters = (limit: number, maximum = MAX) => ({
  limit: {
    description: `Maximum number of items, at most ${Math.min(maximum, LONGEST_PAGE)}`,
    schema: { type: 'integer', format: 'int64', minimum: 1, maximum, default: limit },
  },
  offset: {
    description: 'Index of the first item, starting at 0',
    schema: { type: 'integer', format: 'int64', minimum: 0, maximum: MAX, default: 0 },
  },
});

export const pageOf = ({ limit, offset }: Query, fallback: number): PageRequest => ({
  limit: Math.min(Number(limit ?? fallback), LONGEST_PAGE),
  offset: Number(offset ?? 0),
});

export const emptyListing = (): Listing<never> => ({ items: Readable.from([]), total: 0 });

/** Answers with a page of items that each concern a user. Reads and sends them in batches. */
export function sendPage<Item extends { readonly userId: UserId }>(
  context: RequestContext,
  { items, total }: Listing<Item>,
  accounts: ShownAccounts,
  offset: number,
  show: (item: Item, user: ShowUser) => object,
): Promise<void> {
  const shown = mapped(items, async (batch) => {
    const ids = batch.map(({ userId }) => userId);
    const user = await showUsers(accounts, ids, context.signal);
    return batch.map((item) => show(item, user));
  });
  return jsonReport(context, { name: 'data', items: flattened(shown), rest: (rows) => ({ rows, offset, total }) });
}

/** The id of a row from the path; undefined when the text is no such id. */
export function rowId(context: RequestContext, name: string): number | undefined {
  const text = context.param(name);
  const id = Number(text);
  return /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(id) ? id : undefined;
}

/** The person that a new record is for: a user by id, who need not have an account, or by mail address. */
export type Invitee = { readonly userId: UserId } | { readonly email: string };

/** Reads exactly one of the two. Undefined after a fault was added. */
export function readInvitee(
  body: { readonly userId?: unknown; readonly email?: string },
  faults: Faults,
): Invitee | undefined {
  const email = typeof body.email === 'string' ? body.email.trim() : '';
  if ((body.userId === undefined) === (email === '')) {
    for (const field of ['userId', 'email']) faults.add([field], 'exactly one of userId and email is required');
    return undefined;
  }
  if (body.userId === undefined) {
    if (isEmail(email)) return { email };
    faults.add(['email'], `is ${describeValue(email)}; one mail address is required`);
    return undefined;
  }
  const userId = parseUserId(String(body.userId));
  if (!userId) faults.add(['userId'], `is ${describeValue(body.userId)}; a whole number from 1 is required`);
  return userId && { userId };
}

/** The user; undefined when nobody has the address. Throws 422 when several people have it. */
export async function findInvitee(
  invitee: Invitee,
  addresses: AddressBook,
  faults: Faults,
  signal: AbortSignal,
): Promise<UserId | undefined> {
  if ('userId' in invitee) return invitee.userId;
  const [user, another] = await addresses.usersAt(invitee.email, signal);
  if (another === undefined) return user;
  faults.add(['email'], 'belongs to several accounts; give userId instead');
  throw faults.refusal();
}

/**
 * Wraps `remember` of the settings: creates the records of people who were invited by mail as soon as they call with an account
 * that has the address. A failure is logged and retried at the next call.
 */
export function redeeming(
  { remember }: Pick<AuthSettings, 'remember'>,
  invitations: Pick<AccessInvitations, 'redeem'>,
  clock: Clock,
  log: Logger,
): AuthSettings['remember'] {
  // Does not use the request's signal: the record is created even if the client disconnects.
  const signal = new AbortController().signal;
  return async (caller) => {
    await remember(caller);
    if (caller.kind !== 'user' || caller.profile.email === '') return;
    const { userId, profile } = caller;
    try {
      const made = await invitations.redeem(profile.email, userId, new Date(clock.now()), signal);
      if (made > 0) log.info({ user: userId, made }, 'invitations were redeemed');
    } catch (error) {
      log.warn({ user: userId, err: messageOf(error) }, 'invitations could not be checked');
    }
  };
}
