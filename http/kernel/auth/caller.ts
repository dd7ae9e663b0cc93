// Who is calling.

import type { UserId } from '../../../engine/model/ids.ts';
import type { Profile } from '../../../engine/ports/accounts.ts';

/** Operators may do what the Admin-Token may; observers look at reports and change nothing. */
export type OperatorRole = 'operator' | 'observer';

export interface Person {
  readonly kind: 'user' | 'guest';
  readonly userId: UserId;
  readonly profile: Profile;
  /** Of users alone; what it is good for is decided for each route (authenticate.ts). */
  readonly role?: OperatorRole;
}

export type Caller =
  | { readonly kind: 'anonymous' }
  | Person
  /** @property operator who it is, unless it is whoever has the Admin-Token */
  | { readonly kind: 'admin'; readonly operator?: Person };

export const ANONYMOUS: Caller = { kind: 'anonymous' };
