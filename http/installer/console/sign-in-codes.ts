// One-time codes of `longshore up`. Whoever sees the operator's terminal signs in with one. They are in the memory of the process
// only.
//
//   issued ── used within an hour ─▶ used
//     └────── an hour passes ──────▶ expired
// A code that is used or expired is refused, and replaced by a new one in the terminal.

import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../engine/runtime/time.ts';
import { sameSecret } from '../../kernel/auth/token-guesses.ts';

const LIFETIME_MS = 3_600_000;
/** More than an operator follows while the program runs. */
const MAX_CODES = 100;

interface Issued {
  readonly code: string;
  readonly untilMs: number;
  isUsed: boolean;
}

export class SignInCodes {
  readonly #clock: Clock;
  readonly #show: (code: string) => void;
  #issued: Issued[] = [];

  /** @param show tells the operator a code */
  constructor(clock: Clock, show: (code: string) => void) {
    this.#clock = clock;
    this.#show = show;
  }

  /** Shows a new code to the operator. */
  issue(): void {
    const code = randomBytes(32).toString('base64url');
    this.#issued = [...this.#issued, { code, untilMs: this.#clock.now() + LIFETIME_MS, isUsed: false }].slice(
      -MAX_CODES,
    );
    this.#show(code);
  }

  /** `stale`: it was right once. The operator has been shown a new one. */
  use(given: string): 'right' | 'stale' | 'wrong' {
    // Compares with all, so that the time tells nothing.
    const [found] = this.#issued.filter(({ code }) => sameSecret(given, code));
    if (!found) return 'wrong';
    const isRight = !found.isUsed && this.#clock.now() < found.untilMs;
    found.isUsed = true;
    const isNewest = found === this.#issued.at(-1);
    if (isNewest) this.issue();
    return isRight ? 'right' : 'stale';
  }
}
