// A job of the report job service: an earlier query's result in one format. Clients read the texts of the states.
//
//   (none) --submit--> queued --claim--> in-progress --> complete | failed
//   in-progress  --interrupted, given back, a dependency unavailable--> queued
//   failed       --submitted again after a while--> queued
//   complete, failed  --not accessed for long--> expired     its files are removed, its configuration stays
//   expired      --submit, requeue--> queued
// Each claim is an attempt with its own number, and an attempt writes only below that number. So an attempt that was wrongly
// believed dead never writes where another one does.

import { createHash } from 'node:crypto';
import type { Branded, UserId } from '../ids.ts';
import type { ResolvedConfig } from './blast-config.ts';
import { canonicalJson, parseQueryJobId, type QueryJob, type QueryJobId } from './query-job.ts';

export const REPORT_STATUSES = ['queued', 'in-progress', 'complete', 'failed', 'expired'] as const;
export type ReportStatus = (typeof REPORT_STATUSES)[number];

/** Whose collection it is. A guest and a user may have the same number. */
export interface Collector {
  readonly id: UserId;
  readonly guest: boolean;
}

/** A user's notes about a job in their collection. */
export interface UserMeta {
  /** At most 512 characters (docs/contract/report.md#user-meta). */
  readonly summary?: string;
  readonly description?: string;
}

/** An absent key is unchanged, null clears it. */
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

/** What a report is made from; the id identifies all of it. */
export interface ReportRequest {
  readonly id: ReportJobId;
  readonly queryId: QueryJobId;
  readonly configuration: ResolvedConfig;
  /** Of the databases that the query searched, as they were at that time. */
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

/**
 * Identifies the job's content: the same request about the same data has the same id, for everyone. 32 lower case hex digits.
 */
export type ReportJobId = Branded<'ReportJobId'>;

/** The text as the id of a report job, in any case; undefined when it is not one. */
export function parseReportJobId(text: string): ReportJobId | undefined {
  // Both have the same form (docs/contract/report.md#job-id).
  return parseQueryJobId(text) as string | undefined as ReportJobId | undefined;
}

/** Increase this when the output of a resolved configuration changes. */
const VERSION = 1;

/**
 * The contract leaves room for 128 bits. That is enough: whoever finds two requests with one id could request either anyway.
 */
export function reportJobId(
  config: ResolvedConfig,
  { id, fingerprint }: Pick<QueryJob, 'id' | 'fingerprint'>,
): ReportJobId {
  const text = canonicalJson({ version: VERSION, config, queryJobID: id, fingerprint });
  return createHash('md5').update(text).digest('hex') as ReportJobId;
}
