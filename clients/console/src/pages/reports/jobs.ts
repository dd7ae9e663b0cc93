// The report jobs of the report service, as the person who is signed in.

import type { components } from '../../../../typescript/src/report.ts';
import { useLoad } from '../../api/load.ts';
import { usePolled } from '../../api/polling.ts';
import type { report } from '../../api/session.ts';

export type Service = NonNullable<ReturnType<typeof report>>;
export type Status = components['schemas']['ReportStatus'];
export type Job = components['schemas']['JobDetails'];
export type Config = Job['blastConfig'];
export type Notes = components['schemas']['UserMeta'];

export interface Listed {
  readonly reportJobID: string;
  readonly queryJobID: string;
  readonly status: Status;
  readonly userMeta?: Notes;
}

export interface ReportFile {
  readonly name: string;
  readonly size: number;
}

const POLL_MS = 2_000;
const IDLE_MS = 60_000;
/** Ids in one question for statuses; the service takes 10,000. */
const MOST_ASKED = 1_000;

export const isPending = (status: Status): boolean => status === 'queued' || status === 'in-progress';

/** The jobs that the person keeps, the newest first. @param queryId only reports of this query job */
export async function jobsOf(service: Service, queryId: string, signal: AbortSignal): Promise<readonly Listed[]> {
  const query = queryId === '' ? {} : { query_job_id: queryId };
  const { data } = await service.GET('/jobs', { params: { query }, signal });
  return data as readonly Listed[];
}

/** Reading a job keeps it in the person's list. */
export async function jobOf(service: Service, id: string, signal: AbortSignal): Promise<Job> {
  const { data } = await service.GET('/jobs/{id}', { params: { path: { id } }, signal });
  return data as Job;
}

/** The statuses of those of the jobs that are not over, again and again. Asking does not count as reading. */
export function useStatuses(
  service: Service,
  jobs: readonly Pick<Listed, 'reportJobID' | 'status'>[],
): Readonly<Record<string, Status>> {
  const ids = jobs.filter(({ status }) => isPending(status)).map(({ reportJobID }) => reportJobID);
  const { value } = usePolled(
    `statuses ${ids.join(' ')}`,
    async (signal): Promise<Readonly<Record<string, Status>>> => {
      if (ids.length === 0) return {};
      const { data } = await service.POST('/statuses', { body: ids.slice(0, MOST_ASKED), signal });
      return data as Readonly<Record<string, Status>>;
    },
    ids.length === 0 ? IDLE_MS : POLL_MS,
  );
  return value ?? {};
}

/** Undefined for a job that has no files. */
export const useFiles = (service: Service, { reportJobID: id, status }: Job) =>
  useLoad(`files ${id} ${status}`, async (signal): Promise<readonly ReportFile[] | undefined> => {
    if (status !== 'complete') return undefined;
    const { data } = await service.GET('/jobs/{id}/files', { params: { path: { id } }, signal });
    return data as readonly ReportFile[];
  });

/** What the formatter said; its last line says why the job failed. */
export async function stderrOf(service: Service, id: string, signal: AbortSignal): Promise<string> {
  const { data } = await service.GET('/jobs/{id}/stderr', { params: { path: { id } }, parseAs: 'text', signal });
  return String(data);
}

export async function fileStream(service: Service, id: string, name: string): Promise<ReadableStream<Uint8Array>> {
  const { data } = await service.GET('/jobs/{id}/files/{fileName}', {
    params: { path: { id, fileName: name } },
    parseAs: 'stream',
  });
  return data as unknown as ReadableStream<Uint8Array>;
}

/** Of a text file that is shown. */
export const MOST_SHOWN = 200_000;

/** The beginning of a text file, in whole lines unless its first line is longer. */
export async function beginningOf(
  service: Service,
  id: string,
  { name, size }: ReportFile,
  signal: AbortSignal,
): Promise<string> {
  if (size === 0) return '';
  const { data } = await service.GET('/jobs/{id}/files/{fileName}', {
    params: { path: { id, fileName: name } },
    headers: { range: `bytes=0-${MOST_SHOWN - 1}` },
    parseAs: 'text',
    signal,
  });
  const text = String(data);
  return size > MOST_SHOWN ? text.slice(0, text.lastIndexOf('\n') + 1) || text : text;
}
