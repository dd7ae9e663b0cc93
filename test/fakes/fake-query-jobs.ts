// Query jobs in memory.

import { access, writeFile } from 'node:fs/promises';
import type { QueryJob, QueryJobId } from '../../engine/model/report/query-job.ts';
import type { QueryJobs } from '../../engine/ports/report-jobs.ts';
import { defect, transient } from '../../engine/runtime/failure.ts';

export class FakeQueryJobs implements QueryJobs {
  readonly jobs = new Map<QueryJobId, { readonly job: QueryJob; readonly archive: string | undefined }>();
  away = false;

  put(job: QueryJob, archive?: string): void {
    this.jobs.set(job.id, { job, archive });
  }

  find: QueryJobs['find'] = async (id, signal) => {
    await this.probe(signal);
    return this.jobs.get(id)?.job;
  };

  putArchive: QueryJobs['putArchive'] = async (id, file, signal) => {
    await this.probe(signal);
    const archive = this.jobs.get(id)?.archive;
    if (archive === undefined) return false;
    const taken = await access(file).then(
      () => true,
      () => false,
    );
    if (taken) throw defect(`the result of query job ${id} cannot be put at ${file}: something is there`);
    await writeFile(file, archive);
    return true;
  };

  probe: QueryJobs['probe'] = async (signal) => {
    signal.throwIfAborted();
    if (this.away) throw transient('query jobs are away', { unreachable: true });
  };
}
