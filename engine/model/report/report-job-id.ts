// The id of a report job identifies its content: the same request about the same data has the same id, for everyone.

import { createHash } from 'node:crypto';
import type { Branded } from '../ids.ts';
import type { ResolvedConfig } from './blast-config.ts';
import { canonicalJson } from './canonical-json.ts';
import { parseQueryJobId, type QueryJob } from './query-job.ts';

/** 32 hexadecimal digits, lower case. */
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
