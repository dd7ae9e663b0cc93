// Earlier queries and their results, wherever they are stored.

import type { QueryJob, QueryJobId } from '../model/report/query-job.ts';

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
