// The id of a query job that is made here says what was searched for in what: the same search has the same id.

import { createHash } from 'node:crypto';
import { canonicalJson } from './canonical-json.ts';
import type { QueryJob, QueryJobId } from './query-job.ts';

export interface Search extends Pick<QueryJob, 'program' | 'databases' | 'fingerprint'> {
  /** SHA-256 of the sequences that are searched for. */
  readonly query: string;
  /** Sequences that are kept for each query; the program's own number when undefined. */
  readonly maxTargetSequences: number | undefined;
}

const VERSION = 1;

export function queryJobId({ program, databases, fingerprint, query, maxTargetSequences }: Search): QueryJobId {
  const text = canonicalJson({ version: VERSION, program, databases, fingerprint, query, maxTargetSequences });
  return createHash('md5').update(text).digest('hex') as QueryJobId;
}
