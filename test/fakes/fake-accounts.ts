// Profiles in memory.

import { defect } from '../../engine/failure.ts';
import type { UserId } from '../../engine/model/ids.ts';
import type { Accounts, Profile } from '../../engine/ports/accounts.ts';

export class FakeAccounts implements Accounts {
  readonly #profiles = new Map<UserId, Profile>();

  async remember(profile: Profile, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#profiles.set(profile.userId, { ...profile });
  }

  async find(ids: readonly UserId[], signal: AbortSignal): Promise<ReadonlyMap<UserId, Profile>> {
    if (ids.length > 1_000) throw defect(`${ids.length} profiles asked for at once; at most 1000`);
    signal.throwIfAborted();
    return new Map([...this.#profiles].filter(([id]) => ids.includes(id)));
  }
}
