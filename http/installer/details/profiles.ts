// Profiles of many people, asked for in the batches that the port takes.

import type { UserId } from '../../../engine/model/ids.ts';
import type { Accounts, Profile } from '../../../engine/ports/accounts.ts';
import type { Profiles } from '../views/people.ts';

const BATCH = 1_000;

export async function findProfiles(
  accounts: Pick<Accounts, 'find'>,
  ids: Iterable<UserId>,
  signal: AbortSignal,
): Promise<Profiles> {
  const wanted = [...new Set(ids)];
  const found = new Map<UserId, Profile>();
  for (let i = 0; i < wanted.length; i += BATCH) {
    const batch = await accounts.find(wanted.slice(i, i + BATCH), signal);
    for (const [id, profile] of batch) found.set(id, profile);
  }
  return found;
}
