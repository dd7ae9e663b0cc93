// Databases of sequences that queries search in and reports are made with.

import type { Molecule } from '../model/report/query-job.ts';

export interface BlastDatabases {
  /**
   * Tells databases of the same names apart: 64 hexadecimal digits, other ones whenever a database was made anew. Results
   * name sequences by their place in the database, so they can be read with the same one only.
   * @param names at least one, as BLAST is given them: absolute, or looked for in the configured directories
   * @throws Failure `rejected` that names the database which is not there or cannot be read
   */
  fingerprint(names: readonly string[], molecule: Molecule, signal: AbortSignal): Promise<string>;
}
