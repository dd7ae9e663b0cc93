// When the reconciler runs what: a full run at start and every fullRunInterval where enabled, a slim run whenever neither
// has run for slimRunInterval (contract 2, daemons). Both to the nearest tick of its timer.

import type { Clock } from '../../engine/time.ts';

export interface ReconcilerSchedule {
  /** False: no full runs by themselves. */
  readonly enabled: boolean;
  readonly fullRunIntervalMs: number;
  readonly slimRunIntervalMs: number;
}

export class ReconcilerTimes {
  readonly tickMs: number;
  readonly #schedule: ReconcilerSchedule;
  readonly #clock: Clock;
  #lastFull = Number.NEGATIVE_INFINITY;
  #last = Number.NEGATIVE_INFINITY;

  constructor(schedule: ReconcilerSchedule, clock: Clock) {
    this.#schedule = schedule;
    this.#clock = clock;
    const { enabled, fullRunIntervalMs, slimRunIntervalMs } = schedule;
    this.tickMs = enabled ? Math.min(fullRunIntervalMs, slimRunIntervalMs) : slimRunIntervalMs;
  }

  /** What is due now. */
  due(): 'full' | 'slim' | undefined {
    const { enabled, fullRunIntervalMs, slimRunIntervalMs } = this.#schedule;
    const now = this.#clock.now() + this.tickMs / 2;
    if (enabled && now - this.#lastFull >= fullRunIntervalMs) return 'full';
    return now - this.#last >= slimRunIntervalMs ? 'slim' : undefined;
  }

  /** Ordered ones too. A full run stands for a slim one; one that fails is due again at the next tick. */
  async during<Result>(kind: 'full' | 'slim', run: () => Promise<Result>): Promise<Result> {
    const begun = this.#clock.now();
    this.#last = begun;
    const result = await run();
    if (kind === 'full') this.#lastFull = begun;
    return result;
  }
}
