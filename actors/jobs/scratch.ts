// Scratch folders: one per attempt of a job, removed when the attempt ends. The process's root folder is emptied at startup,
// because the files of a crashed process belong to jobs that will be restarted.

import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClaimedJob } from '../../engine/ports/jobs.ts';
import { codeOf } from '../../engine/runtime/failure.ts';
import { removeTree } from '../../engine/runtime/files.ts';

export class Scratch {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Empties the root folder. */
  async clear(): Promise<void> {
    await rm(this.#root, { recursive: true, force: true });
    await mkdir(this.#root, { recursive: true, mode: 0o700 });
  }

  /**
   * Runs `work` with an empty folder for this job. The folder's name includes the lease token, so no two attempts share one.
   */
  using<Result>(job: ClaimedJob, work: (folder: string) => Promise<Result>): Promise<Result> {
    return this.named(`${job.lane}-${job.dataset}-${job.lease.token}`, work);
  }

  /** @param name unique to this attempt */
  async named<Result>(name: string, work: (folder: string) => Promise<Result>): Promise<Result> {
    const folder = join(this.#root, name);
    await makeEmpty(folder);
    try {
      return await work(folder);
    } finally {
      await removeTree(folder);
    }
  }
}

/** Takes one call, unless the folder exists already or its parent is missing. */
async function makeEmpty(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) === 'EEXIST') await removeTree(folder);
    else if (codeOf(error) !== 'ENOENT') throw error;
    await mkdir(folder, { recursive: true, mode: 0o700 });
  }
}
