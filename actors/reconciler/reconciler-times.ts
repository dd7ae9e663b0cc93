// When the reconciler runs: if enabled, a full run at startup and every fullRunInterval; a slim run when neither kind has run
// for slimRunInterval (config/REFERENCE.md). Both are rounded to the nearest tick of its timer.

import { LiveSetting } from '../../engine/runtime/live-setting.ts';
import type { Clock } from '../../engine/runtime/time.ts';

export interface ReconcilerIntervals {
  readonly fullRunIntervalMs: number;
  readonly slimRunIntervalMs: number;
}

export interface ReconcilerSchedule extends ReconcilerIntervals {
  /** False: full runs happen only when ordered. */
  readonly enabled: boolean;
}

export class ReconcilerTimes {
  /** Period of the timer. */
  readonly tickMs: LiveSetting<number>;
  #schedule: ReconcilerSchedule;
  readonly #clock: Clock;
  #lastFull = Number.NEGATIVE_INFINITY;
  #last = Number.NEGATIVE_INFINITY;

  constructor(schedule: ReconcilerSchedule, clock: Clock) {
    this.#schedule = schedule;
    this.#clock = clock;
    this.tickMs = new LiveSetting(tickOf(schedule));
  }

  /** Applies at once, relative to the past runs. */
  change(intervals: ReconcilerIntervals): void {
    const { fullRunIntervalMs, slimRunIntervalMs } = intervals;
    this.#schedule = { ...this.#schedule, fullRunIntervalMs, slimRunIntervalMs };
    this.tickMs.set(tickOf(this.#schedule));
  }

  /** The run that is due now, if any. */
  due(): 'full' | 'slim' | undefined {
    const { enabled, fullRunIntervalMs, slimRunIntervalMs } = this.#schedule;
    const now = this.#clock.now() + this.tickMs.current / 2;
    if (enabled && now - this.#lastFull >= fullRunIntervalMs) return 'full';
    return now - this.#last >= slimRunIntervalMs ? 'slim' : undefined;
  }

  /**
   * Records a run, including an ordered one. A full run counts as a slim one too; one that fails is due again at the next tick.
   */
  async during<Result>(kind: 'full' | 'slim', run: () => Promise<Result>): Promise<Result> {
    const begun = this.#clock.now();
    this.#last = begun;
    const result = await run();
    if (kind === 'full') this.#lastFull = begun;
    return result;
  }
}

const tickOf = ({ enabled, fullRunIntervalMs, slimRunIntervalMs }: ReconcilerSchedule): number =>
  enabled ? Math.min(fullRunIntervalMs, slimRunIntervalMs) : slimRunIntervalMs;
