// Finds accounts by mail address.

import type { UserId } from '../model/ids.ts';

export interface AddressBook {
  /** Users with this address, as {@link addressKey} compares; at most 2. */
  usersAt(email: string, signal: AbortSignal): Promise<readonly UserId[]>;
}
