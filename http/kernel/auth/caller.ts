// The caller of a request.

import type { UserId } from '../../../engine/model/ids.ts';
import type { Profile } from '../../../engine/ports/accounts.ts';

/** Operators may do everything that the Admin-Token allows. Observers may read reports but change nothing. */
export type OperatorRole = 'operator' | 'observer';

export interface Person {
  readonly kind: 'user' | 'guest';
  readonly userId: UserId;
  readonly profile: Profile;
  /** Only for users. Its effect depends on the route (authenticate.ts). */
  readonly role?: OperatorRole;
}

export type Caller =
  | { readonly kind: 'anonymous' }
  | Person
  /** @property operator the person; absent for a caller with the Admin-Token */
  | { readonly kind: 'admin'; readonly operator?: Person };

export const ANONYMOUS: Caller = { kind: 'anonymous' };
