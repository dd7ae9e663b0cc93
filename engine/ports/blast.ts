// What reports are made from: earlier queries with their results, and the databases that they searched.

import type { Molecule, QueryJob, QueryJobId } from '../model/report/query-job.ts';

export interface QueryJobs {
  /**
   * Undefined when there is no such job.
   * @throws Failure `defect` for a job whose description cannot be read, `transient` when the storage cannot be reached
   */
  find(id: QueryJobId, signal: AbortSignal): Promise<QueryJob | undefined>;
  /**
   * Places the job's result, a BLAST archive, at `file`, read-only; `file` must not exist. The file stays complete when the job
   * is removed. False when the job or its result does not exist.
   */
  putArchive(id: QueryJobId, file: string, signal: AbortSignal): Promise<boolean>;
  /** Resolves when jobs can be found; otherwise fails as `transient`. */
  probe(signal: AbortSignal): Promise<void>;
}

export interface BlastDatabases {
  /**
   * Distinguishes databases with the same names: 64 hexadecimal digits that change whenever a database is rebuilt. Results
   * refer to sequences by their position in the database, so they can be read only with the same one.
   * @param names at least one, in the form that BLAST takes: absolute, or looked up in the configured directories
   * @throws Failure `rejected` that names the database that is missing or cannot be read
   */
  fingerprint(names: readonly string[], molecule: Molecule, signal: AbortSignal): Promise<string>;
}
