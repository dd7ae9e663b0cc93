// Who works at the site, who provides which dataset, and who is invited. Every change is recorded with its cause.

import type { CuratedId, SettledTerms } from '../model/access-request.ts';
import type { UserId } from '../model/ids.ts';
import type { KeyedAnswer } from './idempotency-keys.ts';

/** Who changes something, and when. `0` is the service itself or its administrator. */
export interface Cause {
  readonly user: UserId | '0';
  readonly at: Date;
  /**
   * For the key of a request that creates something: the answer, given the new id, or true where there is none. The transaction
   * that creates stores it as well. Absent = the request has no key.
   */
  readonly keyed?: (created: number | true) => KeyedAnswer;
}

export interface Roles {
  readonly isStaff: boolean;
  readonly isOwner: boolean;
  /** Of the dataset asked about. */
  readonly isProvider: boolean;
  readonly isManager: boolean;
}

export interface PageRequest {
  readonly limit: number;
  readonly offset: number;
}

/** A page of a list. */
export interface Listing<Item> {
  /** In batches of bounded bytes; can be read once. */
  readonly items: AsyncIterable<readonly Item[]>;
  /** Total over all pages. */
  readonly total: number;
}

export interface StaffMember {
  readonly staffId: number;
  readonly userId: UserId;
  readonly isOwner: boolean;
}

export interface Provider {
  readonly providerId: number;
  readonly userId: UserId;
  readonly datasetId: CuratedId;
  readonly isManager: boolean;
}

export type NewProvider = Omit<Provider, 'providerId'>;

/** `last-owner`: refused, because nobody could manage the site afterwards. */
export type StaffChange = 'changed' | 'absent' | 'last-owner';

export interface AccessRoles {
  roles(user: UserId, dataset: CuratedId | undefined, signal: AbortSignal): Promise<Roles>;
}

export interface AccessStaff {
  /** Ascending by id. */
  list(page: PageRequest, signal: AbortSignal): Promise<Listing<StaffMember>>;
  /** The new id; undefined when the user is already staff. */
  add(user: UserId, isOwner: boolean, cause: Cause, signal: AbortSignal): Promise<number | undefined>;
  setOwner(staffId: number, isOwner: boolean, cause: Cause, signal: AbortSignal): Promise<StaffChange>;
  remove(staffId: number, cause: Cause, signal: AbortSignal): Promise<StaffChange>;
}

export interface AccessProviders {
  /** Ascending by id. */
  list(dataset: CuratedId, page: PageRequest, signal: AbortSignal): Promise<Listing<Provider>>;
  /** Managers of a dataset, at most 1,000. */
  managers(dataset: CuratedId, signal: AbortSignal): Promise<readonly UserId[]>;
  find(providerId: number, signal: AbortSignal): Promise<Provider | undefined>;
  /** The new id; undefined when the user already provides the dataset. */
  add(provider: NewProvider, cause: Cause, signal: AbortSignal): Promise<number | undefined>;
  /** False when there is no such provider. */
  setManager(providerId: number, isManager: boolean, cause: Cause, signal: AbortSignal): Promise<boolean>;
  remove(providerId: number, cause: Cause, signal: AbortSignal): Promise<boolean>;
}

/**
 * Somebody without an account, who is invited by mail to create one. Once the account exists, the invitation becomes a record
 * of its kind.
 */
export type Invitation = { readonly email: string; readonly datasetId: CuratedId } & (
  | { readonly kind: 'provider'; readonly isManager: boolean }
  | { readonly kind: 'end-user'; readonly terms: SettledTerms }
);

export interface AccessInvitations {
  /** Stores the invitation and queues its mail. False when the address was written to within the last day. */
  invite(invitation: Invitation, cause: Cause, signal: AbortSignal): Promise<boolean>;
  /**
   * Creates the records that wait for the address, on behalf of whoever invited; existing records are unchanged. Invitations
   * that another process created less than a second ago may be left for the next call.
   */
  redeem(email: string, user: UserId, at: Date, signal: AbortSignal): Promise<number>;
}

// Profiles of people, and users by mail address. A missing profile is never a failure: show empty strings.

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
