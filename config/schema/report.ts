// `report`: the report job service (ours).

import { serviceDb } from './database.ts';
import { duration, filled, formed, integer, optional, section } from './field.ts';
import { LIVE_LANE, mailboxKeys } from './lanes.ts';
import type { Loaded } from './loaded.ts';

const GIB = 1_073_741_824;

export const report = section('Formats alignment reports of earlier query jobs.', {
  queryJobs: section('Where query jobs are found.', {
    root: formed<string>('path', 'Directory with one directory per query job.'),
  }),
  blastBin: optional(formed<string>('path', 'Directory of the BLAST+ programs; PATH when absent.')),
  blastDb: optional(formed<string>('search-path', 'Directories of BLAST databases, colon-separated (BLASTDB).')),
  db: optional(serviceDb('report')),
  lane: filled('Its mailbox and workers.', mailboxKeys(20, 4, LIVE_LANE)),
  maxQueued: integer('Jobs that wait; more are answered 503.', { minimum: 1, maximum: 1_000_000, default: 10_000 }),
  maxQueuedPerUser: integer('Jobs of one user, or of all guests of one address, that wait; more are answered 429.', {
    minimum: 1,
    maximum: 1_000_000,
    default: 200,
  }),
  maxDuration: duration('For one run of the formatter.', '1h', { positive: true }),
  maxOutputSize: integer('Bytes of all files of one job.', { minimum: 1_048_576, default: 10 * GIB }),
  retryAfter: duration('After which the same request runs a failed job again.', '60s'),
  retention: duration('After the last access, before a job expires.', '30d', { positive: true }),
});
export type ReportConfiguration = Loaded<typeof report>;
