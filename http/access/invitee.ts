// Whom a new record is for: a user by id, who need not have an account, or whoever has a mail address.

import { parseUserId, type UserId } from '../../engine/model/ids.ts';
import { isEmail } from '../../engine/model/mail-address.ts';
import type { AddressBook } from '../../engine/ports/address-book.ts';
import { describeValue } from '../kernel/input/describe.ts';
import type { Faults } from '../kernel/input/faults.ts';

export type Invitee = { readonly userId: UserId } | { readonly email: string };

/** Exactly one of the two; undefined when there is a fault, which is added. */
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

/** The user; undefined when nobody has the address. An address of several people is a fault. */
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
