// Scratch folders in memory: the files of one process, by path.

import { Scratch } from '../../actors/jobs/scratch.ts';
import type { ClaimedJob } from '../../engine/ports/jobs.ts';

export class SimScratch extends Scratch {
  readonly #files = new Map<string, Buffer>();

  constructor() {
    super('/scratch');
  }

  override async clear(): Promise<void> {
    this.#files.clear();
  }

  override async using<Result>(job: ClaimedJob, work: (folder: string) => Promise<Result>): Promise<Result> {
    const folder = `/scratch/${job.lane}-${job.dataset}-${job.lease.token}`;
    try {
      return await work(folder);
    } finally {
      for (const path of this.#files.keys()) if (path.startsWith(`${folder}/`)) this.#files.delete(path);
    }
  }

  write(path: string, content: Buffer): void {
    this.#files.set(path, content);
  }

  find(path: string): Buffer | undefined {
    return this.#files.get(path);
  }
}
