// Whose fair share of a queue a job counts against: a user's, or that of all guests of one address. A guest costs nothing to make,
// so guests share by where they come from: a share of each guest would be as many shares as somebody wants.

import type { Branded, UserId } from './ids.ts';

export type Tenant = Branded<'Tenant'>;

/** Sorts before every guest: where only so many tenants are looked at, users come first. */
export const tenantOfUser = (user: UserId): Tenant => `user ${user}` as Tenant;

/** @param network as bounds per address count it */
export const tenantOfGuests = (network: string): Tenant => `visitors of ${network}` as Tenant;
