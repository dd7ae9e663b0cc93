// A circuit breaker: after several failures in a row, calls to a dependency are refused for a while.
//
//   closed     every call goes through; `failures` in a row open it
//   open       calls fail at once as `transient`, unreachable; after `probeMs` the next call is the probe
//   half-open  one probe is under way, other calls fail at once. Its success closes the breaker, its failure opens it again.
//              A probe that lasts `acceptedMs` closes it as well, because a call that was accepted may take hours.
//
// The result of a call that began before the breaker last opened or closed is stale and changes nothing.

import { kindOf, transient } from './failure.ts';
import type { Clock } from './time.ts';

export type BreakerState = 'closed' | 'open' | 'half-open';

interface BreakerOptions {
  /** Failures in a row that open it. */
  readonly failures: number;
  readonly probeMs: number;
  /**
   * A probe that is still under way after this time counts as accepted and closes the breaker. By default only a probe that
   * ends can close it.
   */
  readonly acceptedMs?: number;
  /** Called after each change of state, for logs and metrics. */
  readonly changed?: (state: BreakerState) => void;
}

export const DEFAULT_BREAKER: BreakerOptions = { failures: 5, probeMs: 30_000 };

/** What a call's error says about the dependency. `unknown`: nothing, because the call may not have reached it. */
export type Verdict = 'failed' | 'answered' | 'unknown';

export class Breaker {
  readonly name: string;
  readonly #options: BreakerOptions;
  readonly #clock: Clock;
  #state: BreakerState = 'closed';
  #failures = 0;
  #probeAt = 0;
  /** Increases with each change of state; a call remembers the value at its start. */
  #era = 0;

  constructor(name: string, options: BreakerOptions, clock: Clock) {
    this.name = name;
    this.#options = options;
    this.#clock = clock;
  }

  get state(): BreakerState {
    return this.#state;
  }

  /** True while a call would fail at once; false when a probe is due. */
  get blocked(): boolean {
    return this.#state === 'half-open' || (this.#state === 'open' && this.#clock.now() < this.#probeAt);
  }

  /** Milliseconds until the next probe is allowed; 0 when calls go through. */
  get retryInMs(): number {
    return this.#state === 'open' ? Math.max(0, this.#probeAt - this.#clock.now()) : 0;
  }

  /**
   * Runs `call` unless the breaker is open. `judge` maps an error to a verdict. By default, `transient` errors are `failed`,
   * `aborted` ones are `unknown`, and all others count as `answered`, that is, as success.
   */
  async run<T>(call: () => Promise<T>, judge: (error: unknown) => Verdict = verdictOf): Promise<T> {
    const era = this.#enter();
    const { acceptedMs } = this.#options;
    const probing = this.#state === 'half-open' && acceptedMs !== undefined;
    const accepted = probing ? this.#clock.after(acceptedMs, () => this.#succeeded(era)) : undefined;
    try {
      const result = await call();
      this.#succeeded(era);
      return result;
    } catch (error) {
      const verdict = judge(error);
      if (verdict === 'failed') this.#failed(era);
      else if (verdict === 'answered') this.#succeeded(era);
      else this.#unknown(era);
      throw error;
    } finally {
      accepted?.();
    }
  }

  #enter(): number {
    if (this.blocked) {
      const wait =
        this.#state === 'open' ? `next probe in ${Math.ceil(this.retryInMs / 1000)} s` : 'a probe is under way';
      throw transient(`${this.name} did not answer ${this.#options.failures} times in a row; ${wait}`, {
        unreachable: true,
      });
    }
    if (this.#state === 'open') this.#become('half-open');
    return this.#era;
  }

  #succeeded(era: number): void {
    if (era !== this.#era) return;
    this.#failures = 0;
    if (this.#state === 'half-open') this.#become('closed');
  }

  #failed(era: number): void {
    if (era !== this.#era) return;
    this.#failures++;
    if (this.#state === 'closed' && this.#failures < this.#options.failures) return;
    this.#probeAt = this.#clock.now() + this.#options.probeMs;
    this.#become('open');
  }

  /** A probe without a verdict: the breaker opens again, and the next call may probe at once. */
  #unknown(era: number): void {
    if (era === this.#era && this.#state === 'half-open') this.#become('open');
  }

  #become(state: BreakerState): void {
    this.#state = state;
    this.#era++;
    this.#options.changed?.(state);
  }
}

function verdictOf(error: unknown): Verdict {
  const kind = kindOf(error);
  return kind === 'transient' ? 'failed' : kind === 'aborted' ? 'unknown' : 'answered';
}
