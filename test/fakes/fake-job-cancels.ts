// Orders to cancel jobs in memory: one exchange for all processes, one view of it per process.

import type { CancelRequest, JobCancels } from '../../engine/ports/job-cancels.ts';
import type { JobTable } from './fake-jobs.ts';

export class CancelExchange {
  readonly jobs: JobTable;
  readonly watchers = new Set<{ readonly process: number; readonly cancel: (request: CancelRequest) => void }>();

  constructor(jobs: JobTable) {
    this.jobs = jobs;
  }
}

export class FakeJobCancels implements JobCancels {
  readonly #exchange: CancelExchange;
  readonly #process: number;

  constructor(exchange: CancelExchange, process: number) {
    this.#exchange = exchange;
    this.#process = process;
  }

  ask: JobCancels['ask'] = async (order, signal) => {
    signal.throwIfAborted();
    const { jobs, watchers } = this.#exchange;
    const row = jobs.rows.find(({ id }) => id === order.job);
    if (!row) return 'not-found';
    const { claim } = row;
    if (!claim || !jobs.leases.alive(claim.process)) return 'not-running';
    // In a later turn, as a notification would.
    queueMicrotask(() => {
      for (const { process, cancel } of [...watchers])
        if (process === claim.process) cancel({ ...order, token: claim.token });
    });
    return 'asked';
  };

  watch(cancel: (request: CancelRequest) => void): () => void {
    const watcher = { process: this.#process, cancel };
    this.#exchange.watchers.add(watcher);
    return () => this.#exchange.watchers.delete(watcher);
  }
}
