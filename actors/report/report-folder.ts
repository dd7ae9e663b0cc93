// The folder of one run, gone with it: `work` is the formatter's own, `home` its empty HOME. The folder of a whole
// process is emptied at its start: what a dead process left there belongs to jobs that run again from the beginning.

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReportClaim } from '../../engine/ports/report-jobs.ts';
import { Scratch } from '../jobs/scratch.ts';

export interface ReportFolder {
  readonly work: string;
  readonly home: string;
  /** For the archive of all files, which is none of the formatter's. */
  readonly zip: string;
}

export class ReportFolders {
  readonly #scratch: Scratch;

  constructor(root: string) {
    this.#scratch = new Scratch(root);
  }

  /** Makes the root empty. */
  clear(): Promise<void> {
    return this.#scratch.clear();
  }

  /** Its name carries the attempt, so no two runs share one. */
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
