// What the suites of report jobs are set up with, and the jobs they begin with.

import { type Tenant, tenantOfUser, type UserId } from '../../engine/model/ids.ts';
import type { QueryJobId } from '../../engine/model/report/query-job.ts';
import type { Collector, ReportJobId, ReportRequest } from '../../engine/model/report/report-job.ts';
import type {
  ReportClaim,
  ReportCollections,
  ReportExpiry,
  ReportJobs,
  ReportOutcome,
  ReportQueue,
  StoredReportFile,
  SubmitRules,
} from '../../engine/ports/report-jobs.ts';

export interface ReportProcess {
  readonly jobs: ReportJobs;
  readonly queue: ReportQueue;
  readonly expiry: ReportExpiry;
}

/** One that keeps collections, too. */
export interface CollectingProcess extends ReportProcess {
  readonly collections: ReportCollections;
}

export interface ReportWorld<Process extends ReportProcess = ReportProcess> {
  readonly first: Process;
  /** Of another process on the same records. */
  readonly second: Process;
  killSecond(): Promise<void>;
  /** The time of all leases passes. */
  lapse(): Promise<void>;
}

export const signal = new AbortController().signal;
/** Seconds after some instant. */
export const at = (seconds: number): Date => new Date(Date.UTC(2026, 0, 1) + seconds * 1000);
const hex = (n: number): string => n.toString(16).padStart(32, '0');
/** The n-th ids. */
export const idOf = (n: number): ReportJobId => hex(n) as ReportJobId;
export const queryOf = (n: number): QueryJobId => hex(n) as QueryJobId;
export const userOf = (id: number | string): Collector => ({ id: String(id) as UserId, guest: false });
export const guestOf = (id: number | string): Collector => ({ ...userOf(id), guest: true });
export const tenantOf = (user: number): Tenant => tenantOfUser(userOf(user).id);
export const QUERY = queryOf(0xfeed);
/** The first one is like those of earlier versions. */
export const FILES: readonly StoredReportFile[] = [
  { name: 'report.tsv', size: 0 },
  { name: 'report.zip', size: 2 ** 40, digest: { etag: 'e-1', sha256: '0123456789abcdef'.repeat(4) } },
];

export const requestOf = (n: number, queryId = QUERY): ReportRequest => ({
  id: idOf(n),
  queryId,
  configuration: { formatType: 'tabular', formatFields: ['std', 'qlen'], showGIs: false, parseDefLines: true },
  fingerprint: 'f'.repeat(64),
});

export const rulesAt = (seconds: number, more: Partial<SubmitRules> = {}): SubmitRules => ({
  now: at(seconds),
  maxQueued: 100,
  maxQueuedPerTenant: 100,
  tenant: tenantOf(7),
  failedBefore: at(seconds - 60),
  ...more,
});

export async function submit({ jobs }: ReportProcess, n: number, seconds = 0): Promise<ReportJobId> {
  const answer = await jobs.submit(requestOf(n), undefined, rulesAt(seconds), signal);
  if (answer !== 'queued') throw new Error(`not queued: ${answer}`);
  return idOf(n);
}

/** Claims what can be claimed. */
export const claim = ({ queue }: ReportProcess, seconds: number, limit = 10): Promise<readonly ReportClaim[]> =>
  queue.completeAndFetch([], { limit }, at(seconds), signal);

/** Claims the job that waited longest. */
export async function claimOne(process: ReportProcess, seconds: number): Promise<ReportClaim> {
  const [claimed] = await claim(process, seconds, 1);
  if (!claimed) throw new Error('nothing to claim');
  return claimed;
}

/** Writes how a claimed job ended, and claims nothing. */
export async function end({ queue }: ReportProcess, claim: ReportClaim, outcome: ReportOutcome, seconds: number) {
  await queue.completeAndFetch([{ claim, outcome }], { limit: 0 }, at(seconds), signal);
}

export const again = (seconds: number, countsAttempt: boolean): ReportOutcome => ({
  ...{ kind: 'again', from: at(seconds), countsAttempt },
});

export const complete = (seconds: number, files = FILES): ReportOutcome => ({
  kind: 'complete',
  ended: at(seconds),
  files,
  stderr: 'Warning: \0',
});

export const FAILURE = 'the formatter ended with exit code 255';
export const failed = (seconds: number): ReportOutcome => ({
  kind: 'failed',
  ended: at(seconds),
  reason: FAILURE,
  stderr: `BLAST Database error\n${FAILURE}\n`,
});

/** Submits, claims and ends the n-th job, all at that second. */
export async function run(
  process: ReportProcess,
  n: number,
  outcome: ReportOutcome,
  seconds = 0,
): Promise<ReportClaim> {
  await submit(process, n, seconds);
  const claimed = await claimOne(process, seconds);
  if (claimed.id !== idOf(n)) throw new Error('another job was claimed');
  await end(process, claimed, outcome, seconds);
  return claimed;
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
