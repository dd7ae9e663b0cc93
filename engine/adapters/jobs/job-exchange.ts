// The database function swap_jobs (migration 20; 18, 3, 4, 11, 12 and 15 to 17 say why it does what it does) as the adapter calls
// it: completions and a claim, or one of both, in one statement.

import type { LaneName } from '../../model/event.ts';
import type { DatasetId, UserId } from '../../model/ids.ts';
import type { Traceparent } from '../../model/traceparent.ts';
import type { ClaimedJob, ClaimRequest, JobCompletion, JobOutcome } from '../../ports/jobs.ts';
import { type Sql, sqlState } from '../postgres/postgres.ts';
import { storableText } from '../postgres/storable-text.ts';

const SWAP =
  'select * from swap_jobs($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)';

/** SQLSTATE deadlock_detected: the exchange is undone as a whole, and the others of the ring have gone on. */
const DEADLOCK = '40P01';
/** Each takes the server its deadlock_timeout, a second. */
const DEADLOCK_TRIES = 3;

interface ClaimedRow {
  readonly id: number;
  readonly dataset_id: DatasetId;
  readonly owner: UserId;
  readonly event_id: number;
  readonly source: ClaimedJob['source'];
  readonly type: string | null;
  readonly tries: number;
  readonly crashes: number;
  readonly alone: boolean;
  readonly token: number;
  readonly waited_ms: number;
  readonly traceparent: Traceparent | null;
}

/** Comes after the claimed jobs. */
interface LastRow {
  readonly id: null;
  readonly blocked: boolean;
  readonly next_due_ms: number | null;
  readonly oldest_at: string | null;
  readonly oldest: number | null;
}

/** Where a job stands in its lane: jobs are claimed in the order of time, then id. */
export interface JobPlace {
  /** As PostgreSQL writes it, to the microsecond. */
  readonly runAt: string;
  readonly id: number;
}

export interface JobExchange {
  readonly claimed: readonly ClaimedJob[];
  /** The claim left room and due jobs behind: something keeps them waiting. */
  readonly blocked: boolean;
  /** Milliseconds until the lane's next delayed job falls due. */
  readonly nextDueMs: number | undefined;
  /** The lane's oldest job as the claim began, running ones included. */
  readonly oldest: JobPlace | undefined;
}

export interface ExchangeOptions {
  /** No job of the lane is older; without it that is not known. */
  readonly from?: JobPlace | undefined;
  /** Where the look for jobs of others begins when some owners are withheld: after this one. */
  readonly afterOwner?: UserId | undefined;
  /** Other processes are told of the leases that the completions release. */
  readonly tell: boolean;
}

/** Writes the completions of one process instance and claims for it. */
export async function exchangeJobs(
  db: Sql,
  instance: number,
  done: readonly JobCompletion[],
  claim: ClaimRequest,
  { from, tell, afterOwner }: ExchangeOptions,
): Promise<JobExchange> {
  const { lane, limit, crowdedTypes, blockedTypes, awayTypes = [], withheldOwners = [], crowdedOwners = [] } = claim;
  const rows = await swap(db, [
    ...[instance, ...completionColumns(done)],
    ...[lane, Math.max(0, limit), crowdedTypes, blockedTypes, awayTypes, from?.runAt ?? null, from?.id ?? null, tell],
    ...[withheldOwners, crowdedOwners, afterOwner ?? null],
  ]);
  const claimed: ClaimedJob[] = [];
  for (const row of rows) {
    if (row.id !== null) claimed.push(claimedJob(lane, row));
    else return { claimed, ...claimOf(row) };
  }
  return { claimed, blocked: false, nextDueMs: undefined, oldest: undefined };
}

async function swap(db: Sql, values: readonly unknown[]): Promise<(ClaimedRow | LastRow)[]> {
  for (let tries = 1; ; tries++) {
    try {
      return await db.query<ClaimedRow | LastRow>(SWAP, values, 'job-exchange');
    } catch (error) {
      if (sqlState(error) !== DEADLOCK || tries === DEADLOCK_TRIES) throw error;
    }
  }
}

const claimOf = ({ blocked, next_due_ms, oldest_at, oldest }: LastRow): Omit<JobExchange, 'claimed'> => ({
  blocked,
  nextDueMs: next_due_ms ?? undefined,
  oldest: oldest_at === null || oldest === null ? undefined : { runAt: oldest_at, id: oldest },
});

/** Completions as one array per column, as the functions take them; those that say no more than `done` are left out. */
function completionColumns(done: readonly JobCompletion[]): readonly unknown[] {
  const jobs = [
    done.map(({ job }) => job.id),
    done.map(({ job }) => job.dataset),
    done.map(({ job }) => job.lease.token),
  ];
  if (done.every(({ outcome }) => outcome.kind === 'done')) return [...jobs, null, null, null, null, null];
  const outcomes = done.map(({ outcome }) => outcomeColumns(outcome));
  return [
    ...jobs,
    outcomes.map((one) => one.outcome),
    outcomes.map((one) => one.delayMs),
    outcomes.map((one) => one.counted),
    outcomes.map((one) => one.kind),
    outcomes.map((one) => one.said),
  ];
}

function outcomeColumns(outcome: JobOutcome) {
  const none = { delayMs: 0, counted: false, kind: null, said: null };
  switch (outcome.kind) {
    case 'done':
      return { ...none, outcome: 'done' };
    case 'retry':
      return {
        outcome: 'retry',
        delayMs: outcome.delayMs,
        counted: outcome.countTry,
        kind: 'transient',
        said: storableText(outcome.message),
      };
    case 'requeue':
      return { ...none, outcome: outcome.crashed ? 'crash' : 'requeue' };
    case 'dead':
      return { ...none, outcome: 'dead', kind: outcome.failure, said: storableText(outcome.message) };
    default:
      return outcome satisfies never;
  }
}

function claimedJob(lane: LaneName, row: ClaimedRow): ClaimedJob {
  return {
    id: row.id,
    lane,
    dataset: row.dataset_id,
    owner: row.owner,
    eventId: row.event_id,
    source: row.source,
    tries: row.tries,
    crashes: row.crashes,
    alone: row.alone,
    type: row.type ?? undefined,
    ...(row.traceparent === null ? {} : { traceparent: row.traceparent }),
    lease: { name: row.dataset_id, token: row.token },
    waitedMs: row.waited_ms,
  };
}
