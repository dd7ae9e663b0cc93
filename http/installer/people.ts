// People in responses. A person without a profile has empty names; that is never a reason to fail.

import type { Static } from 'typebox';
import type { UserId } from '../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../engine/model/metadata.ts';
import type { Accounts, Profile } from '../../engine/ports/access-people.ts';
import type { ShareRecord } from '../../engine/ports/dataset-queries.ts';
import { Type, UserIdOutput } from '../kernel/openapi/schema-node.ts';

export const Owner = Type.Named('Owner', {
  userId: UserIdOutput,
  firstName: Type.String(),
  lastName: Type.String(),
  email: Type.String(),
  affiliation: Type.String(),
});
export type Owner = Static<typeof Owner>;

/** A share as the listing shows it (docs/contract/installer.md#dataset-listing). */
export const ListedShare = Type.Named('ListedShare', {
  userId: UserIdOutput,
  firstName: Type.String(),
  lastName: Type.String(),
  affiliation: Type.String(),
  accepted: Type.Boolean(),
});
export type ListedShare = Static<typeof ListedShare>;

/** A share as the details show it to the owner. */
export const ShareDetails = Type.Named('ShareDetails', { recipient: Owner, status: Type.Enum(['grant', 'revoke']) });
export type ShareDetails = Static<typeof ShareDetails>;

export type Profiles = ReadonlyMap<UserId, Profile>;
export const NOBODY: Profiles = new Map();

/** Guests see names and addresses of people only with public datasets. */
export const showsPeople = ({ visibility }: Pick<DatasetMetadata, 'visibility'>, guest: boolean): boolean =>
  !guest || visibility === 'public';

export function ownerView(userId: UserId, profiles: Profiles): Owner {
  const { firstName = '', lastName = '', email = '', affiliation = '' } = profiles.get(userId) ?? {};
  return { userId, firstName, lastName, email, affiliation };
}

export function listedShareView(share: ShareRecord, profiles: Profiles): ListedShare {
  const { email: _email, ...person } = ownerView(share.recipient, profiles);
  return { ...person, accepted: share.accepted };
}

export function shareDetailsView(share: ShareRecord, profiles: Profiles): ShareDetails {
  return { recipient: ownerView(share.recipient, profiles), status: share.granted ? 'grant' : 'revoke' };
}

// Profiles of many people, asked for in the batches that the port takes.

const BATCH = 1_000;

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
