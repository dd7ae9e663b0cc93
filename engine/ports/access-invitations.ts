// People without an account: they are invited by mail to create one, and entered once they have it.

import type { CuratedId, SettledTerms } from '../model/access-request.ts';
import type { UserId } from '../model/ids.ts';
import type { Cause } from './access-people.ts';

/** What the invitation becomes when the person has an account. */
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
