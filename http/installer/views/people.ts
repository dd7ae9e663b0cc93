// People as responses show them. A person without a profile has empty names: never a reason to fail.

import type { UserId } from '../../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../../engine/model/metadata.ts';
import type { Profile } from '../../../engine/ports/accounts.ts';
import type { ShareRecord } from '../../../engine/ports/dataset-queries.ts';
import type { ListedShare, Owner, ShareDetails } from '../schema/people.ts';

export type Profiles = ReadonlyMap<UserId, Profile>;
export const NOBODY: Profiles = new Map();

/** A guest is shown the names and addresses of people with what is public, and with nothing else. */
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
