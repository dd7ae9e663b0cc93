// Earlier queries and their results, wherever they are kept.

import type { QueryJob, QueryJobId } from '../model/report/query-job.ts';

export interface QueryJobs {
  /**
   * Undefined when there is no such job.
   * @throws Failure `defect` for a job whose description cannot be read, `transient` when the place cannot be reached
   */
  find(id: QueryJobId, signal: AbortSignal): Promise<QueryJob | undefined>;
  /**
   * Puts the result of the job, an archive of BLAST, at `file`, for reading only; nothing may be there. It stays whole
   * when the job is removed. False when the job or its result is not there.
   */
  putArchive(id: QueryJobId, file: string, signal: AbortSignal): Promise<boolean>;
  /** Resolves when jobs can be found; fails `transient` otherwise. */
  probe(signal: AbortSignal): Promise<void>;
}
