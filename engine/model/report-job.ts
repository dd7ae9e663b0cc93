// A job of the report job service: an earlier query's result in one format. The texts of the states are those that
// clients read.
//
//   (none) --submit--> queued --claim--> in-progress --> complete | failed
//   in-progress  --cut off, given back, a dependency away--> queued
//   failed       --submitted again after a while--> queued
//   complete, failed  --not accessed for long--> expired     its files go, its configuration stays
//   expired      --submit, requeue--> queued
// Each claim is an attempt with a number of its own; what an attempt writes lies below that number, so that one which
// was taken for dead writes nowhere that another one does.

import type { UserId } from './ids.ts';
import type { ResolvedConfig } from './report/blast-config.ts';
import type { QueryJobId } from './report/query-job.ts';
import type { ReportJobId } from './report/report-job-id.ts';

export const REPORT_STATUSES = ['queued', 'in-progress', 'complete', 'failed', 'expired'] as const;
export type ReportStatus = (typeof REPORT_STATUSES)[number];

/** Whose collection. The number of a guest may be that of a user. */
export interface Collector {
  readonly id: UserId;
  readonly guest: boolean;
}

/** What a user notes about a job of the own collection. */
export interface UserMeta {
  /** At most 512 characters (docs/contract/report.md#user-meta). */
  readonly summary?: string;
  readonly description?: string;
}

/** A key that is absent stays as it is, null clears it. */
export interface UserMetaChange {
  readonly summary?: string | null;
  readonly description?: string | null;
}

export interface ReportFile {
  /** One path segment. */
  readonly name: string;
  /** Bytes. */
  readonly size: number;
}

/** What a report is made of; the id stands for all of it. */
export interface ReportRequest {
  readonly id: ReportJobId;
  readonly queryId: QueryJobId;
  readonly configuration: ResolvedConfig;
  /** Of the databases that the query searched, as they were then. */
  readonly fingerprint: string;
}

export const SUMMARY_CHARACTERS = 512;

/** Prefix of everything that the object store keeps for a job. */
export const reportPrefix = (id: ReportJobId): string => `reports/${id}/`;
export const attemptPrefix = (id: ReportJobId, attempt: number): string => `${reportPrefix(id)}${attempt}/`;
export const reportFileKey = (id: ReportJobId, attempt: number, name: string): string =>
  attemptPrefix(id, attempt) + name;

/** Which attempt wrote an object below {@link reportPrefix}; undefined when none did. */
export function attemptOf(id: ReportJobId, key: string): number | undefined {
  const [, digits] = /^([1-9][0-9]{0,14})\//.exec(key.slice(reportPrefix(id).length)) ?? [];
  return digits === undefined ? undefined : Number(digits);
}
