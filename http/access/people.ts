// People as the service shows them. Who has no known account has an id and no name.

import type { UserId } from '../../engine/model/ids.ts';
import type { Accounts, Profile } from '../../engine/ports/accounts.ts';

export interface ShownUser {
  readonly userId: UserId;
  readonly firstName: string;
  readonly lastName: string;
  readonly organization: string;
  readonly email: string;
}

export type ShownAccounts = Pick<Accounts, 'find'>;

export type ShowUser = (id: UserId) => ShownUser;

/** The port's bound. */
const AT_ONCE = 1_000;

/** A function that shows any of these users. */
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
