// Profiles in memory.

import type { UserId } from '../../engine/model/ids.ts';
import type { Accounts, Profile } from '../../engine/ports/access-people.ts';
import { defect } from '../../engine/runtime/failure.ts';

export class FakeAccounts implements Accounts {
  readonly #profiles = new Map<UserId, Profile>();

  remember: Accounts['remember'] = async (profile, signal) => {
    signal.throwIfAborted();
    this.#profiles.set(profile.userId, { ...profile });
  };

  find: Accounts['find'] = async (ids, signal) => {
    if (ids.length > 1_000) throw defect(`${ids.length} profiles requested at once; at most 1000`);
    signal.throwIfAborted();
    return new Map([...this.#profiles].filter(([id]) => ids.includes(id)));
  };
}
