// Cancels running jobs of this process when an operator orders it, in any process. A job that was claimed and has not started
// ends when its turn comes. A job whose outcome is about to be written keeps that outcome.

import type { CancelRequest, JobCancels } from '../../engine/ports/job-cancels.ts';
import type { ClaimedJob } from '../../engine/ports/jobs.ts';
import { Cancelled } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { settledUnless } from '../../engine/runtime/wait.ts';

/** What cancellation needs of a lane. */
export interface CancelHolder {
  /** Claimed jobs whose outcome is not written yet. */
  held(): readonly ClaimedJob[];
  isWaiting(id: number): boolean;
  abortJob(id: number, reason: Error): boolean;
}

export class Cancellations {
  readonly #holders: readonly CancelHolder[];
  readonly #log: Logger;
  /** Of waiting jobs, by job and lease. */
  readonly #marked = new Map<string, Cancelled>();

  constructor(holders: readonly CancelHolder[], log: Logger) {
    this.#holders = holders;
    this.#log = log.child({ actor: 'cancellations' });
  }

  /** Follows the orders until the signal aborts. */
  async listen(cancels: Pick<JobCancels, 'watch'>, signal: AbortSignal): Promise<void> {
    const stop = cancels.watch((request) => this.cancel(request));
    await settledUnless(new Promise(() => {}), signal);
    stop();
  }

  /** False when the job has ended meanwhile, or runs under another lease. */
  cancel(request: CancelRequest): boolean {
    const { job: id, token, hard, by, reason } = request;
    const about = { job: id, by, hard, ...(reason === undefined ? {} : { reason }) };
    const message = `cancelled by ${by}${reason === undefined ? '' : `: ${reason}`}`;
    for (const holder of this.#holders) {
      const job = holder.held().find((one) => one.id === id && one.lease.token === token);
      if (!job) continue;
      const cancelled = new Cancelled(message, hard);
      if (holder.isWaiting(id)) this.#mark(job, cancelled);
      else if (!holder.abortJob(id, cancelled)) break;
      this.#log.info({ ...about, lane: job.lane, dataset: job.dataset }, 'a job is being cancelled');
      return true;
    }
    this.#log.info(about, 'a job ended before it could be cancelled');
    return false;
  }

  /** Why the job must not start; undefined when it may. Call it when its turn has come. */
  taken(job: ClaimedJob): Cancelled | undefined {
    if (this.#marked.size === 0) return undefined;
    const cancelled = this.#marked.get(keyOf(job));
    this.#marked.delete(keyOf(job));
    return cancelled;
  }

  /** Also forgets waiting jobs that were given back, so there are never more marks than jobs that lanes hold. */
  #mark(job: ClaimedJob, cancelled: Cancelled): void {
    const held = new Set(this.#holders.flatMap((holder) => holder.held().map(keyOf)));
    for (const key of this.#marked.keys()) if (!held.has(key)) this.#marked.delete(key);
    this.#marked.set(keyOf(job), cancelled);
  }
}

const keyOf = ({ id, lease }: ClaimedJob): string => `${id} ${lease.token}`;
