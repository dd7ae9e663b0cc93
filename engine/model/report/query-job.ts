// An earlier query, whose result reports are made of (docs/contract/report.md).

import type { Branded } from '../ids.ts';

/** 32 hexadecimal digits, lower case. */
export type QueryJobId = Branded<'QueryJobId'>;

const JOB_ID = /^[0-9a-f]{32}$/;

/** The text as the id of a query job, whatever its case; undefined when it is none. */
export function parseQueryJobId(text: string): QueryJobId | undefined {
  const id = text.toLowerCase();
  return JOB_ID.test(id) ? (id as QueryJobId) : undefined;
}

/** What databases hold. */
export type Molecule = 'nucleotide' | 'protein';

/** The programs that search, and what they search in. */
export const QUERY_PROGRAMS = {
  blastn: 'nucleotide',
  blastp: 'protein',
  blastx: 'protein',
  tblastn: 'nucleotide',
  tblastx: 'nucleotide',
} as const satisfies Readonly<Record<string, Molecule>>;
export type QueryProgram = keyof typeof QUERY_PROGRAMS;

/** Reports are made of `complete` ones only. */
export const QUERY_STATUSES = ['queued', 'in-progress', 'complete', 'failed', 'expired'] as const;
export type QueryStatus = (typeof QUERY_STATUSES)[number];

export interface QueryJob {
  readonly id: QueryJobId;
  readonly program: QueryProgram;
  /** As they were named at the search, and stand in the archive; at least one. */
  readonly databases: readonly string[];
  /** Of these databases at the search: 64 hexadecimal digits, lower case. */
  readonly fingerprint: string;
  readonly status: QueryStatus;
}
