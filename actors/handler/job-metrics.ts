// Metrics of handler jobs.

import type { Metrics } from '../../engine/runtime/metrics.ts';

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
