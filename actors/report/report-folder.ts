// The folder of one run, removed when the run ends: `work` belongs to the formatter, `home` is its empty HOME. The process's
// root folder is emptied at startup: whatever a crashed process left there belongs to jobs that start over.

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReportClaim } from '../../engine/ports/report-jobs.ts';
import { Scratch } from '../jobs/scratch.ts';

export interface ReportFolder {
  readonly work: string;
  readonly home: string;
  /** For the archive of all files, outside of the formatter's folder. */
  readonly zip: string;
}

export class ReportFolders {
  readonly #scratch: Scratch;

  constructor(root: string) {
    this.#scratch = new Scratch(root);
  }

  /** Empties the root folder. */
  clear(): Promise<void> {
    return this.#scratch.clear();
  }

  /** The folder's name includes the attempt, so no two runs share one. */
  using<Result>(
    { id, attempt }: Pick<ReportClaim, 'id' | 'attempt'>,
    run: (folder: ReportFolder) => Promise<Result>,
  ): Promise<Result> {
    return this.#scratch.named(`${id}-${attempt}`, async (folder) => {
      const [work, home] = [join(folder, 'work'), join(folder, 'home')];
      for (const dir of [work, home]) await mkdir(dir, { mode: 0o700 });
      return run({ work, home, zip: join(folder, 'report.zip') });
    });
  }
}
