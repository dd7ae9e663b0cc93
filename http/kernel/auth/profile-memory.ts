// Stores the profiles of users who call, so that their names can be shown to others. Guests are left out: they own nothing,
// cannot be given access, and may have the same number as a user. A missing profile is never a failure
// (engine/ports/accounts.ts), so a failed write is only logged.

import { isDeepStrictEqual } from 'node:util';
import type { Accounts, Profile } from '../../../engine/ports/accounts.ts';
import { messageOf, transient } from '../../../engine/runtime/failure.ts';
import type { Logger } from '../../../engine/runtime/log.ts';
import { type Clock, deadline } from '../../../engine/runtime/time.ts';
import { unlessAborted } from '../../../engine/runtime/wait.ts';
import type { Caller } from './caller.ts';

/** Most callers whose written profile we remember. */
const MAX_KNOWN = 10_000;
const WRITE_MS = 2_000;
const AFTER_FAILURE_MS = 10_000;

/** The function resolves when the profile is written, or when that failed. It writes a profile again only after a change. */
export function profileMemory(
  accounts: Pick<Accounts, 'remember'>,
  clock: Clock,
  log: Logger,
): (caller: Caller) => Promise<void> {
  const known = new Map<string, Profile>();
  let quietUntil = 0;
  return async (caller) => {
    if (caller.kind !== 'user') return;
    const { profile } = caller;
    // A token without these claims must not erase the stored profile.
    if (!profile.firstName && !profile.lastName && !profile.email && !profile.affiliation) return;
    // Fast in most cases, because the profile of a cached token is the same object.
    if (isDeepStrictEqual(known.get(caller.userId), profile) || clock.now() < quietUntil) return;
    using limit = deadline(clock, WRITE_MS, undefined, () => transient(`no response within ${WRITE_MS} ms`));
    try {
      await unlessAborted(accounts.remember(profile, limit.signal), limit.signal);
      const oldest = known.keys().next();
      if (known.size >= MAX_KNOWN && !oldest.done) known.delete(oldest.value);
      known.set(caller.userId, profile);
    } catch (error) {
      quietUntil = clock.now() + AFTER_FAILURE_MS;
      log.warn({ err: messageOf(error) }, 'the profile of a caller could not be kept');
    }
  };
}
