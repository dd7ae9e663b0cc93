// People who have no account yet: asked by mail to make one, and entered when they have.

import type { CuratedId, SettledTerms } from '../model/access-request.ts';
import type { UserId } from '../model/ids.ts';
import type { Cause } from './access-people.ts';

/** What becomes of the invitation when the person has an account. */
export type Invitation = { readonly email: string; readonly datasetId: CuratedId } & (
  | { readonly kind: 'provider'; readonly isManager: boolean }
  | { readonly kind: 'end-user'; readonly terms: SettledTerms }
);

export interface AccessInvitations {
  /** Keeps the invitation and queues its mail. False when the address was written to within the last day. */
  invite(invitation: Invitation, cause: Cause, signal: AbortSignal): Promise<boolean>;
  /**
   * Makes the records that wait for the address, caused by whoever invited; those that exist stay as they are. Of
   * invitations that another process made less than a second ago, some may be left for the next call.
   */
  redeem(email: string, user: UserId, at: Date, signal: AbortSignal): Promise<number>;
}
