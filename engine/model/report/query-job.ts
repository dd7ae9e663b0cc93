// An earlier query whose result reports are made from (docs/contract/report.md).

import { createHash } from 'node:crypto';
import { defect, messageOf } from '../../runtime/failure.ts';
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

/** The description of a query job as a document: the content of `job.json` beside a result. */
export function serialiseQueryJob({ program, databases, fingerprint, status }: QueryJob): string {
  return `${JSON.stringify({ program, databases, fingerprint, status }, null, 2)}\n`;
}

/** Ignores unknown members. A document that cannot be read is a `defect` that names the problem and `where`. */
export function parseQueryJob(id: QueryJobId, text: string, where: string): QueryJob {
  const wrong = (what: string, cause?: unknown): Error => defect(`${where}: ${what}`, { cause });
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw wrong(`not JSON: ${messageOf(cause)}`, cause);
  }
  if (typeof document !== 'object' || document === null) throw wrong('not an object');
  const { program, databases, fingerprint, status } = document as Readonly<Record<string, unknown>>;
  const known = PROGRAMS.find((one) => one === program);
  if (!known) throw wrong(`'program' must be one of ${PROGRAMS.join(', ')}`);
  if (!isNames(databases)) throw wrong(`'databases' must be a list of names`);
  if (typeof fingerprint !== 'string' || !/^[0-9a-f]{64}$/.test(fingerprint))
    throw wrong(`'fingerprint' must be 64 lower case hexadecimal digits`);
  const state = QUERY_STATUSES.find((one) => one === status);
  if (!state) throw wrong(`'status' must be one of ${QUERY_STATUSES.join(', ')}`);
  return { id, program: known, databases, fingerprint, status: state };
}

const PROGRAMS = Object.keys(QUERY_PROGRAMS) as readonly QueryProgram[];

const isNames = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === 'string' && name !== '');

/** JSON in one form: members sorted by name, no white space, absent members left out. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}

export interface Search extends Pick<QueryJob, 'program' | 'databases' | 'fingerprint'> {
  /** SHA-256 of the query sequences. */
  readonly query: string;
  /** Sequences to keep per query; undefined = the program's default. */
  readonly maxTargetSequences: number | undefined;
}

const VERSION = 1;

/** Identifies the search: the same search has the same id. */
export function queryJobId({ program, databases, fingerprint, query, maxTargetSequences }: Search): QueryJobId {
  const text = canonicalJson({ version: VERSION, program, databases, fingerprint, query, maxTargetSequences });
  return createHash('md5').update(text).digest('hex') as QueryJobId;
}
