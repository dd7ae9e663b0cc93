// Scratch folders: one per run of a job, removed with it. The folder of a whole process is removed at its start, since
// whatever a dead process left there belongs to jobs that run again from the beginning.

import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClaimedJob } from '../../engine/ports/jobs.ts';

export class Scratch {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Makes the root empty. */
  async clear(): Promise<void> {
    await rm(this.#root, { recursive: true, force: true });
    await mkdir(this.#root, { recursive: true, mode: 0o700 });
  }

  /** Runs `work` with an empty folder of the job's own; its name carries the lease token, so no two runs share one. */
  using<Result>(job: ClaimedJob, work: (folder: string) => Promise<Result>): Promise<Result> {
    return this.named(`${job.lane}-${job.dataset}-${job.lease.token}`, work);
  }

  /** @param name of this run alone */
  async named<Result>(name: string, work: (folder: string) => Promise<Result>): Promise<Result> {
    const folder = join(this.#root, name);
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true, mode: 0o700 });
    try {
      return await work(folder);
    } finally {
      // What a run started may still be writing for a moment after it was killed.
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  }
}
