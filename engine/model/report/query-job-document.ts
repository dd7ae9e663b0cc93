// The description of a query job as a document: the content of `job.json` beside a result.

import { defect, messageOf } from '../../runtime/failure.ts';
import { QUERY_PROGRAMS, QUERY_STATUSES, type QueryJob, type QueryJobId, type QueryProgram } from './query-job.ts';

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
