// Whose fair share of a queue a job counts against: a user's, or that of all guests of one address. Anybody can create any
// number of guests, so guests of one address share: a share per guest would give a client as many shares as it wants.

import type { Branded, UserId } from './ids.ts';

export type Tenant = Branded<'Tenant'>;

/** Sorts before every guest, so that users come first where only a limited number of tenants is considered. */
export const tenantOfUser = (user: UserId): Tenant => `user ${user}` as Tenant;

/** @param network the address or network that per-address limits count */
export const tenantOfGuests = (network: string): Tenant => `visitors of ${network}` as Tenant;
