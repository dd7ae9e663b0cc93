// Profiles of people, and users by mail address. A missing profile is never a failure: show empty strings.

import type { UserId } from '../model/ids.ts';

export interface Profile {
  readonly userId: UserId;
  readonly firstName: string;
  readonly lastName: string;
  readonly email: string;
  readonly affiliation: string;
}

export interface Accounts {
  /** Inserts or updates a profile from verified claims; writes nothing when nothing changed. */
  remember(profile: Profile, signal: AbortSignal): Promise<void>;
  /** The known profiles among the ids (at most 1,000 per call). */
  find(ids: readonly UserId[], signal: AbortSignal): Promise<ReadonlyMap<UserId, Profile>>;
}

export interface AddressBook {
  /** Users with this address, as {@link addressKey} compares; at most 2. */
  usersAt(email: string, signal: AbortSignal): Promise<readonly UserId[]>;
}
