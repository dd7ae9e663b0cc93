// Enters people who were invited by mail, as soon as they call with an account that has the address. What fails now is
// tried again at the next call.

import type { AccessInvitations } from '../../engine/ports/access-invitations.ts';
import { messageOf } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import type { AuthSettings } from '../kernel/auth/authenticate.ts';

/** `remember` of the settings, and then this. */
export function redeeming(
  { remember }: Pick<AuthSettings, 'remember'>,
  invitations: Pick<AccessInvitations, 'redeem'>,
  clock: Clock,
  log: Logger,
): AuthSettings['remember'] {
  // Not the request's signal: the caller may go away, the record is wanted all the same.
  const signal = new AbortController().signal;
  return async (caller) => {
    await remember(caller);
    if (caller.kind !== 'user' || caller.profile.email === '') return;
    const { userId, profile } = caller;
    try {
      const made = await invitations.redeem(profile.email, userId, new Date(clock.now()), signal);
      if (made > 0) log.info({ user: userId, made }, 'invitations were redeemed');
    } catch (error) {
      log.warn({ user: userId, err: messageOf(error) }, 'invitations could not be looked for');
    }
  };
}
