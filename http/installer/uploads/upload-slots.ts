// How many uploads one user may have under way at once in this process. The bound keeps a single user from holding all
// connections to the object store; nobody waits for a slot, the next upload is told to come again.

import type { UserId } from '../../../engine/model/ids.ts';
import { tooMany } from '../../kernel/pipeline/errors.ts';

const RETRY_SECONDS = 10;

export class UploadSlots {
  readonly #perUser: number;
  readonly #taken = new Map<UserId, number>();

  constructor(perUser: number) {
    this.#perUser = perUser;
  }

  /** Dispose it when the upload has ended. Throws 429 when the user's slots are all taken. */
  take(user: UserId): Disposable {
    const taken = this.#taken.get(user) ?? 0;
    if (taken >= this.#perUser)
      throw tooMany(`you have ${taken} uploads under way, which is the most allowed at once`, RETRY_SECONDS);
    this.#taken.set(user, taken + 1);
    let held = true;
    return {
      [Symbol.dispose]: () => {
        if (held) this.#release(user);
        held = false;
      },
    };
  }

  #release(user: UserId): void {
    const left = (this.#taken.get(user) ?? 1) - 1;
    if (left === 0) this.#taken.delete(user);
    else this.#taken.set(user, left);
  }
}
