// People who have signed out everywhere: tokens that were issued to them before are refused. Of `longshore up` alone, whose
// process serves everything and issues the tokens.
//
// Tokens tell when they were issued in seconds. So a sign-out ends with its second: what is issued after it is newer.

import type { Clock } from '../../../engine/runtime/time.ts';
import { unauthorized } from '../pipeline/errors.ts';
import type { Person } from './authenticate.ts';
import type { TokenVerifier } from './tokens.ts';

/** The second of the last sign-out since 1970, by kind and id of the person. */
export type SignOutTimes = Readonly<Record<string, number>>;

interface SignOutOptions {
  /** Those that were written before. */
  readonly times: SignOutTimes;
  readonly write: (times: SignOutTimes) => Promise<void>;
  /** No token lives longer. */
  readonly lifetimeMs: number;
  readonly clock: Clock;
}

export class SignOuts {
  readonly #options: SignOutOptions;
  readonly #times: Map<string, number>;

  constructor(options: SignOutOptions) {
    this.#options = options;
    this.#times = new Map(Object.entries(options.times));
  }

  /** Resolves when all tokens that the person has are refused, also after a restart, and new ones are accepted. */
  async signOut(person: Pick<Person, 'kind' | 'userId'>, signal: AbortSignal): Promise<void> {
    const { clock, lifetimeMs, write } = this.#options;
    const second = Math.floor(clock.now() / 1_000);
    for (const [key, before] of this.#times) if (before < second - lifetimeMs / 1_000) this.#times.delete(key);
    this.#times.set(keyOf(person), second);
    await write(Object.fromEntries(this.#times));
    await clock.sleep((second + 1) * 1_000 - clock.now(), signal);
  }

  isOver(person: Pick<Person, 'kind' | 'userId' | 'issuedMs'>): boolean {
    const second = this.#times.get(keyOf(person));
    return second !== undefined && (person.issuedMs ?? 0) < (second + 1) * 1_000;
  }

  /** Refuses tokens whose person has signed out since. What lasts longer than a request ends, too. */
  refusing(verify: TokenVerifier): TokenVerifier {
    return async (token) => {
      const caller = await verify(token);
      if (caller.kind !== 'user' && caller.kind !== 'guest') return caller;
      const isOver = (): boolean => this.isOver(caller);
      if (isOver()) throw unauthorized('the owner of the bearer token has signed out everywhere since it was issued');
      return {
        ...caller,
        get untilMs() {
          return isOver() ? 0 : (caller.untilMs ?? Number.POSITIVE_INFINITY);
        },
      };
    };
  }
}

const keyOf = ({ kind, userId }: Pick<Person, 'kind' | 'userId'>): string => `${kind} ${userId}`;
