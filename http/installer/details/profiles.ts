// Profiles of many people, asked for in the batches that the port takes.

import type { UserId } from '../../../engine/model/ids.ts';
import type { Accounts, Profile } from '../../../engine/ports/accounts.ts';
import type { Profiles } from '../views/people.ts';

const BATCH = 1_000;
const NOBODY: Profiles = new Map();

/** @param known found a moment ago: who is among them is not asked for again */
export async function findProfiles(
  accounts: Pick<Accounts, 'find'>,
  ids: Iterable<UserId>,
  signal: AbortSignal,
  known = NOBODY,
): Promise<Profiles> {
  const found = new Map<UserId, Profile>();
  const wanted: UserId[] = [];
  for (const id of new Set(ids)) {
    const profile = known.get(id);
    if (profile) found.set(id, profile);
    else wanted.push(id);
  }
  for (let i = 0; i < wanted.length; i += BATCH) {
    const batch = await accounts.find(wanted.slice(i, i + BATCH), signal);
    for (const [id, profile] of batch) found.set(id, profile);
  }
  return found;
}
