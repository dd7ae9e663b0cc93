// Sequence databases that queries search in and that reports are made with.

import type { Molecule } from '../model/report/query-job.ts';

export interface BlastDatabases {
  /**
   * Distinguishes databases with the same names: 64 hexadecimal digits that change whenever a database is rebuilt. Results
   * refer to sequences by their position in the database, so they can be read only with the same one.
   * @param names at least one, in the form that BLAST takes: absolute, or looked up in the configured directories
   * @throws Failure `rejected` that names the database that is missing or cannot be read
   */
  fingerprint(names: readonly string[], molecule: Molecule, signal: AbortSignal): Promise<string>;
}
