// Counts what the service does and hands it on now and then: a response should not cost a write of its own. What was
// not handed on when a process is killed is lost.

import {
  type HandlerCounter,
  type HandlerCounts,
  type HandlerStatistics,
  NO_COUNTS,
  sumOf,
} from '../../engine/ports/handler-jobs.ts';
import { messageOf } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Metrics } from '../../engine/runtime/metrics.ts';

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
      this.#log.warn({ err: messageOf(error) }, 'the statistics could not be written; retrying');
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

// Metrics of handler jobs.

export type JobOutcome = 'completed' | 'refused' | 'user_error' | 'failed';

export interface JobMetrics {
  ended(outcome: JobOutcome, runMs: number): void;
  uploaded(bytes: number): void;
  /** @param command as configured */
  ran(command: string, ms: number): void;
}

const MIB = 1_048_576;
const UPLOAD_BUCKETS = [0.5, 1, 10, 50, 100, 250, 500].map((mib) => mib * MIB);

export function jobMetrics(metrics: Metrics): JobMetrics {
  const jobs = metrics.counter('handler_jobs_total', 'Ends of handler jobs by outcome.', ['outcome']);
  const seconds = metrics.histogram('handler_job_seconds', 'Time from the start of unpacking to the end of a job.');
  const bytes = metrics.histogram('handler_upload_bytes', 'Sizes of uploads received whole.', [], UPLOAD_BUCKETS);
  const commands = metrics.histogram('handler_command_seconds', 'Duration of commands.', ['command']);
  for (const outcome of ['completed', 'refused', 'user_error', 'failed']) jobs.inc({ outcome }, 0);
  return {
    ended(outcome, runMs) {
      jobs.inc({ outcome });
      seconds.observe({}, runMs / 1000);
    },
    uploaded: (size) => bytes.observe({}, size),
    ran: (command, ms) => commands.observe({ command }, ms / 1000),
  };
}
