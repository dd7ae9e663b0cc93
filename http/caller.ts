// Who is calling.

import type { UserId } from '../engine/model/ids.ts';
import type { Profile } from '../engine/ports/accounts.ts';

export type Caller =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'user' | 'guest'; readonly userId: UserId; readonly profile: Profile }
  | { readonly kind: 'admin' };

export const ANONYMOUS: Caller = { kind: 'anonymous' };
