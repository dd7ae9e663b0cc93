// An earlier query whose result reports are made from (docs/contract/report.md).

import type { Branded } from '../ids.ts';

/** 32 hexadecimal digits, lower case. */
export type QueryJobId = Branded<'QueryJobId'>;

const JOB_ID = /^[0-9a-f]{32}$/;

/** The text as the id of a query job, in any case; undefined when it is not one. */
export function parseQueryJobId(text: string): QueryJobId | undefined {
  const id = text.toLowerCase();
  return JOB_ID.test(id) ? (id as QueryJobId) : undefined;
}

/** What a database contains. */
export type Molecule = 'nucleotide' | 'protein';

/** The search programs, and what they search in. */
export const QUERY_PROGRAMS = {
  blastn: 'nucleotide',
  blastp: 'protein',
  blastx: 'protein',
  tblastn: 'nucleotide',
  tblastx: 'nucleotide',
} as const satisfies Readonly<Record<string, Molecule>>;
export type QueryProgram = keyof typeof QUERY_PROGRAMS;

/** Reports are made only from `complete` ones. */
export const QUERY_STATUSES = ['queued', 'in-progress', 'complete', 'failed', 'expired'] as const;
export type QueryStatus = (typeof QUERY_STATUSES)[number];

export interface QueryJob {
  readonly id: QueryJobId;
  readonly program: QueryProgram;
  /** Names used in the search and stored in the archive; at least one. */
  readonly databases: readonly string[];
  /** Fingerprint of these databases at the time of the search: 64 hexadecimal digits, lower case. */
  readonly fingerprint: string;
  readonly status: QueryStatus;
}
