// Counts what the service does and hands it on now and then: a response should not cost a write of its own. What was
// not handed on when a process is killed is lost.

import { type HandlerCounts, type HandlerStatistics, NO_COUNTS, sumOf } from '../../engine/ports/handler-jobs.ts';
import type { HandlerCounter } from '../../engine/ports/handler-runs.ts';
import { messageOf } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';

export class Statistics implements HandlerCounter {
  readonly #kept: HandlerStatistics;
  readonly #log: Logger;
  #pending = NO_COUNTS;

  constructor(kept: HandlerStatistics, log: Logger) {
    this.#kept = kept;
    this.#log = log;
  }

  responded(status: number): void {
    this.#pending = sumOf(this.#pending, { ...NO_COUNTS, byStatus: { [status]: 1 } });
  }

  uploaded(bytes: number): void {
    this.#pending = sumOf(this.#pending, { ...NO_COUNTS, uploads: 1, uploadedBytes: bytes, largest: bytes });
  }

  ran(ms: number): void {
    this.#pending = sumOf(this.#pending, { ...NO_COUNTS, runs: 1, runMs: ms, longestMs: ms });
  }

  /** Everything so far, of all processes as far as they handed it on. */
  async read(signal: AbortSignal): Promise<HandlerCounts> {
    await this.#handOn(signal);
    return this.#kept.read(signal);
  }

  /** Never rejects: what cannot be handed on is kept for the next time. */
  async flush(signal: AbortSignal): Promise<void> {
    try {
      await this.#handOn(signal);
    } catch (error) {
      this.#log.warn({ err: messageOf(error) }, 'the statistics could not be written; trying on');
    }
  }

  async #handOn(signal: AbortSignal): Promise<void> {
    const counts = this.#pending;
    if (counts === NO_COUNTS) return;
    this.#pending = NO_COUNTS;
    try {
      await this.#kept.add(counts, signal);
    } catch (error) {
      this.#pending = sumOf(counts, this.#pending);
      throw error;
    }
  }
}
