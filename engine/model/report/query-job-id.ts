// The id of a query job created here identifies the search: the same search has the same id.

import { createHash } from 'node:crypto';
import { canonicalJson } from './canonical-json.ts';
import type { QueryJob, QueryJobId } from './query-job.ts';

export interface Search extends Pick<QueryJob, 'program' | 'databases' | 'fingerprint'> {
  /** SHA-256 of the query sequences. */
  readonly query: string;
  /** Sequences to keep per query; undefined = the program's default. */
  readonly maxTargetSequences: number | undefined;
}

const VERSION = 1;

export function queryJobId({ program, databases, fingerprint, query, maxTargetSequences }: Search): QueryJobId {
  const text = canonicalJson({ version: VERSION, program, databases, fingerprint, query, maxTargetSequences });
  return createHash('md5').update(text).digest('hex') as QueryJobId;
}
