// Calls the database function complete_and_fetch_jobs (engine/adapters/migrations/cache/0020-claims-by-type.sql). In one
// statement it writes completions, claims jobs, or does both.

import type { LaneName } from '../../model/event.ts';
import type { DatasetId, UserId } from '../../model/ids.ts';
import type { Traceparent } from '../../model/traceparent.ts';
import type { AttemptRecord } from '../../ports/job-history.ts';
import {
  type ClaimedJob,
  type ClaimRequest,
  CRASHES_ALONE,
  type JobCompletion,
  type JobOutcome,
} from '../../ports/jobs.ts';
import { LEASE_TIME } from '../postgres/leases-postgres.ts';
import { type Sql, sqlState } from '../postgres/postgres.ts';
import { storableJson } from '../postgres/sql-parameters.ts';

const COMPLETE_AND_FETCH =
  'select * from complete_and_fetch_jobs($1, $2::interval, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)';

/** SQLSTATE deadlock_detected: our statement was rolled back as a whole, and the other transaction continued. */
const DEADLOCK = '40P01';
/** A deadlock costs the server its deadlock_timeout, one second. */
const DEADLOCK_ATTEMPTS = 3;

interface ClaimedRow {
  readonly id: number;
  readonly lane: LaneName;
  readonly dataset_id: DatasetId;
  readonly owner: UserId;
  readonly event_id: number;
  readonly source: ClaimedJob['source'];
  readonly type: string | null;
  readonly attempts: number;
  readonly crashes: number;
  readonly alone: boolean;
  readonly token: number;
  readonly waited_ms: number;
  readonly traceparent: Traceparent | null;
}

/** The last row of the result, after the claimed jobs. */
interface LastRow {
  readonly id: null;
  readonly more: boolean;
  readonly next_due_ms: number | null;
}

export interface Fetched {
  readonly claimed: readonly ClaimedJob[];
  /** Jobs of other lanes, which follow the completed ones. */
  readonly handedOver: readonly ClaimedJob[];
  /** Due jobs may remain in the lane: the claim had no room for them, or they could not be claimed. */
  readonly more: boolean;
  /** Milliseconds until the lane's next delayed job is due. */
  readonly nextDueMs: number | undefined;
}

/**
 * Writes the completions of one process instance and claims jobs for it. When some owners are restricted, the others take
 * turns, beginning after `afterOwner`.
 */
export async function completeAndFetchJobs(
  db: Sql,
  instance: number,
  done: readonly JobCompletion[],
  claim: ClaimRequest & { readonly afterOwner: UserId | undefined },
): Promise<Fetched> {
  const { lane, limit, crowdedTypes, blockedTypes, unreachableTypes = [] } = claim;
  const { crowdedOwners = [], withheldOwners = [], afterOwner = null, ownerShare } = claim;
  const rows = await retryOnDeadlock(db, [
    ...[instance, LEASE_TIME, CRASHES_ALONE, storableJson(JSON.stringify(byDataset(done)))],
    ...[
      lane,
      Math.max(0, limit),
      crowdedTypes,
      blockedTypes,
      unreachableTypes,
      crowdedOwners,
      withheldOwners,
      afterOwner,
      ownerShare?.most ?? Math.max(0, limit),
      JSON.stringify(ownerShare?.held ?? {}),
    ],
  ]);
  const all = rows.flatMap((row) => (row.id === null ? [] : claimedJob(row)));
  const last = rows.find((row) => row.id === null);
  return {
    claimed: all.filter((job) => job.lane === lane),
    handedOver: all.filter((job) => job.lane !== lane),
    more: last?.more ?? false,
    nextDueMs: last?.next_due_ms ?? undefined,
  };
}

async function retryOnDeadlock(db: Sql, values: readonly unknown[]): Promise<(ClaimedRow | LastRow)[]> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await db.query<ClaimedRow | LastRow>(COMPLETE_AND_FETCH, values, 'complete-and-fetch');
    } catch (error) {
      if (sqlState(error) !== DEADLOCK || attempts === DEADLOCK_ATTEMPTS) throw error;
    }
  }
}

/** In the form that the database function expects. A dataset has one lease, so of two claims only the later can be current. */
function byDataset(done: readonly JobCompletion[]): Readonly<Record<DatasetId, object>> {
  const latest = new Map<DatasetId, JobCompletion>();
  for (const one of done) {
    const known = latest.get(one.job.dataset);
    if (!known || known.job.lease.token < one.job.lease.token) latest.set(one.job.dataset, one);
  }
  return Object.fromEntries([...latest].map(([dataset, one]) => [dataset, completionOf(one)]));
}

const completionOf = ({ job, outcome, next }: JobCompletion) => ({
  token: job.lease.token,
  ...outcomeOf(outcome),
  ...recordOf(job, outcome.record),
  ...(next === undefined ? {} : { next: next.lane, last: next.last, owner: job.owner, type: job.type }),
});

/** Most jobs have none, because they found nothing to do. */
const recordOf = ({ dataset, lane, id, eventId }: ClaimedJob, record: AttemptRecord | undefined) => {
  if (!record) return {};
  const { outcome, ...attempt } = record;
  return { record: { dataset, lane, job: id, event: eventId, outcome, attempt } };
};

function outcomeOf(outcome: JobOutcome) {
  switch (outcome.kind) {
    // The dataset's status has the difference.
    case 'done':
    case 'failed':
    case 'invalid':
      return { outcome: 'done' };
    case 'retry':
      return {
        outcome: 'retry',
        delay_ms: outcome.delayMs,
        counted: outcome.countsAttempt,
        failure: 'transient',
        message: outcome.message,
      };
    case 'requeue':
      return { outcome: outcome.crashed ? 'crash' : 'requeue' };
    case 'dead':
      return { outcome: 'dead', failure: outcome.failure, message: outcome.message };
    default:
      return outcome satisfies never;
  }
}

function claimedJob(row: ClaimedRow): ClaimedJob {
  return {
    id: row.id,
    lane: row.lane,
    dataset: row.dataset_id,
    owner: row.owner,
    eventId: row.event_id,
    source: row.source,
    attempts: row.attempts,
    crashes: row.crashes,
    alone: row.alone,
    type: row.type ?? undefined,
    ...(row.traceparent === null ? {} : { traceparent: row.traceparent }),
    lease: { name: row.dataset_id, token: row.token },
    waitedMs: row.waited_ms,
  };
}
