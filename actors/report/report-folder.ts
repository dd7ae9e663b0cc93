// The folder of one run, gone with it: `work` is the formatter's own, `home` its empty HOME. The folder of a whole
// process is emptied at its start: what a dead process left there belongs to jobs that run again from the beginning.

import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReportClaim } from '../../engine/ports/report-queue.ts';

export interface ReportFolder {
  readonly work: string;
  readonly home: string;
  /** For the archive of all files, which is none of the formatter's. */
  readonly zip: string;
}

export class ReportFolders {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Makes the root empty. */
  async clear(): Promise<void> {
    await rm(this.#root, { recursive: true, force: true });
    await mkdir(this.#root, { recursive: true, mode: 0o700 });
  }

  /** Its name carries the attempt, so no two runs share one. */
  async using<Result>(
    { id, attempt }: Pick<ReportClaim, 'id' | 'attempt'>,
    run: (folder: ReportFolder) => Promise<Result>,
  ): Promise<Result> {
    const folder = join(this.#root, `${id}-${attempt}`);
    const [work, home] = [join(folder, 'work'), join(folder, 'home')];
    await rm(folder, { recursive: true, force: true });
    for (const dir of [work, home]) await mkdir(dir, { recursive: true, mode: 0o700 });
    try {
      return await run({ work, home, zip: join(folder, 'report.zip') });
    } finally {
      // Whatever the formatter started may still be writing for a moment after it was killed.
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  }
}
