// The job table in memory: one table for all processes, one view of it per process.

import { LANES, type LaneName, laneRank, REPEATING_SOURCES } from '../../engine/model/event.ts';
import type { DatasetId } from '../../engine/model/ids.ts';
import type { Traceparent } from '../../engine/model/traceparent.ts';
import type { Attempt, HistoryEntry, HistoryOutcome } from '../../engine/ports/job-history.ts';
import {
  type ClaimedJob,
  CRASHES_ALONE,
  type JobCompletion,
  type JobOutcome,
  type JobRequest,
  type Jobs,
} from '../../engine/ports/jobs.ts';
import type { Discard } from '../../engine/ports/problems.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import type { LeaseTable } from './fake-leases.ts';

export interface FakeJobRow extends JobRequest {
  readonly id: number;
  readonly state: 'queued' | 'running' | 'delayed' | 'dead';
  readonly type: string | undefined;
  readonly again: boolean;
  readonly alone: boolean;
  readonly attempts: number;
  readonly crashes: number;
  readonly runAt: number;
  readonly created: number;
  /** While running: the process and its lease. */
  readonly claim: { readonly process: number; readonly token: number; readonly since: number } | undefined;
  readonly failure: { readonly kind: 'rejected' | 'transient' | 'defect'; readonly message: string } | undefined;
}

const MOST_ENTRIES = 1_000;

export class JobTable {
  /** Of all datasets, oldest first. */
  history: readonly (HistoryEntry & { readonly dataset: DatasetId })[] = [];
  readonly clock: Clock;
  readonly leases: LeaseTable;
  readonly #typeOf: (dataset: DatasetId) => string | undefined;
  readonly traceOf: (dataset: DatasetId) => Traceparent | undefined;
  /** What operators have discarded, by lane and dataset. */
  readonly discards = new Map<string, Discard>();
  readonly #rows = new Map<string, FakeJobRow>();
  readonly #wakes = new Map<LaneName, Set<() => void>>();
  /** The job was put back because of a pause. */
  waitsForPause: (lane: LaneName, dataset: DatasetId) => boolean = () => false;
  #lastId = 0;
  #lastEntry = 0;

  /** The catalog: `name:version` of a dataset that it knows, and who changed it last. */
  constructor(
    clock: Clock,
    leases: LeaseTable,
    typeOf: (dataset: DatasetId) => string | undefined,
    traceOf: (dataset: DatasetId) => Traceparent | undefined = () => undefined,
  ) {
    this.traceOf = traceOf;
    this.clock = clock;
    this.leases = leases;
    this.#typeOf = typeOf;
    leases.onRelease(() => {
      for (const lane of LANES) this.wake(lane);
    });
  }

  /** All rows, oldest first, for assertions. */
  get rows(): readonly FakeJobRow[] {
    return [...this.#rows.values()].sort((a, b) => a.id - b.id);
  }

  /** As an administrator sees them, oldest first. */
  view() {
    return this.rows.map(({ lane, dataset, state, eventId, again, alone, attempts, crashes, failure }) => ({
      ...{ lane, dataset, state, eventId, again, alone, attempts, crashes },
      ...{ failure: failure?.kind, message: failure?.message },
    }));
  }

  /** @param process that ran the attempt; undefined = an order of an operator */
  record(
    { id, lane, dataset, eventId }: FakeJobRow,
    outcome: HistoryOutcome,
    process: number | undefined,
    attempt: Attempt = {},
  ): void {
    const by = process && { instance: process, host: 'fake', pid: process, started: new Date(0) };
    const place = { at: this.clock.now(), number: ++this.#lastEntry };
    const entry = { ...place, dataset, lane, job: id, eventId, outcome, ...(by ? { process: by } : {}), ...attempt };
    const own = this.history.filter((one) => one.dataset === dataset);
    const surplus = new Set(own.slice(0, Math.max(0, own.length + 1 - MOST_ENTRIES)));
    this.history = [...this.history.filter((one) => !surplus.has(one)), entry];
  }

  get(lane: LaneName, dataset: DatasetId): FakeJobRow | undefined {
    return this.#rows.get(`${lane} ${dataset}`);
  }

  put(row: FakeJobRow): void {
    this.#rows.set(`${row.lane} ${row.dataset}`, row);
  }

  remove(row: FakeJobRow): void {
    this.#rows.delete(`${row.lane} ${row.dataset}`);
  }

  enqueue(request: JobRequest): void {
    const key = `${request.lane} ${request.dataset}`;
    if (REPEATING_SOURCES.includes(request.source) && this.discards.has(key)) return;
    this.discards.delete(key);
    const known = this.get(request.lane, request.dataset);
    const type = this.#typeOf(request.dataset);
    if (!known) {
      const fresh = { again: false, alone: false, attempts: 0, crashes: 0, claim: undefined, failure: undefined };
      const now = this.clock.now();
      this.put({ ...request, ...fresh, id: ++this.#lastId, state: 'queued', type, runAt: now, created: now });
    } else {
      const newest = request.eventId >= known.eventId ? request : known;
      this.put({
        ...known,
        owner: request.owner,
        eventId: newest.eventId,
        source: newest.source,
        type: type ?? known.type,
        again: known.again || known.state === 'running' || known.state === 'dead',
        ...(known.state === 'delayed' && this.waitsForPause(known.lane, known.dataset) && { runAt: this.clock.now() }),
      });
    }
    const { state, runAt = 0 } = this.get(request.lane, request.dataset) ?? {};
    if (state === 'queued' || (state === 'delayed' && runAt <= this.clock.now())) this.wake(request.lane);
  }

  isClaimable(row: FakeJobRow, unreachableTypes: readonly string[] = []): boolean {
    if (row.state === 'dead' || !this.leases.isFree(row.dataset)) return false;
    if (row.state !== 'running' && row.runAt > this.clock.now()) return false;
    return LANES.every((lane) => {
      const other = this.get(lane, row.dataset);
      return !other || laneRank(lane) >= laneRank(row.lane) || !holdsBack(other, unreachableTypes);
    });
  }

  /** In a later turn, as a notification would. */
  wake(lane: LaneName): void {
    queueMicrotask(() => {
      for (const wake of [...(this.#wakes.get(lane) ?? [])]) wake();
    });
  }

  watch(lane: LaneName, wake: () => void): () => void {
    const wakes = this.#wakes.get(lane) ?? new Set();
    const mine = (): void => wake();
    this.#wakes.set(lane, wakes.add(mine));
    this.wake(lane);
    return () => wakes.delete(mine);
  }
}

/** A job that is dead, or waits because a target or its plugin is away, holds back nobody. */
function holdsBack({ state, lane, type }: FakeJobRow, unreachableTypes: readonly string[]): boolean {
  if (!['updateMeta', 'install', 'sharing'].includes(lane)) return state !== 'dead';
  const waitsForPlugin = state === 'queued' && type !== undefined && unreachableTypes.includes(type);
  return state !== 'dead' && state !== 'delayed' && !waitsForPlugin;
}

export class FakeJobs implements Jobs {
  readonly #table: JobTable;
  readonly #process: number;

  constructor(table: JobTable, process: number) {
    this.#table = table;
    this.#process = process;
  }

  enqueue: Jobs['enqueue'] = async (requests, signal) => {
    this.#table.leases.enter(this.#process, signal);
    for (const request of requests) this.#table.enqueue(request);
  };

  completeAndFetch: Jobs['completeAndFetch'] = async (done, claim, signal) => {
    this.#table.leases.enter(this.#process, signal);
    const handedOver = done.flatMap((completion) => this.#complete(completion, claim.unreachableTypes) ?? []);
    const open = this.#table.rows.filter(
      (row) => row.lane === claim.lane && this.#table.isClaimable(row, claim.unreachableTypes),
    );
    const has = (types: readonly string[], row: FakeJobRow): boolean =>
      row.type !== undefined && types.includes(row.type);
    const order = (row: FakeJobRow): number =>
      (has(claim.crowdedTypes, row) ? 2 : 0) + (claim.crowdedOwners?.includes(row.owner) ? 1 : 0);
    const { most, held } = claim.ownerShare ?? { most: claim.limit, held: {} };
    const counts = new Map<string, number>();
    const isWithinShare = (row: FakeJobRow): boolean => {
      const key = `${row.owner} ${has(claim.crowdedTypes, row)}`;
      const count = (counts.get(key) ?? held[row.owner] ?? 0) + 1;
      counts.set(key, count);
      return count <= most;
    };
    const found = open
      .filter((row) => !has(claim.blockedTypes, row) && !claim.withheldOwners?.includes(row.owner))
      .sort((a, b) => order(a) - order(b) || a.runAt - b.runAt || a.id - b.id)
      .slice(0, claim.limit);
    const claimed = found.filter(isWithinShare).flatMap((row) => this.#claim(row) ?? []);
    if (claimed.length > 0 && found.length >= claim.limit) this.#table.wake(claim.lane);
    return [...claimed, ...handedOver];
  };

  watch(lane: LaneName, wake: () => void): () => void {
    return this.#table.watch(lane, wake);
  }

  overtaken: Jobs['overtaken'] = async (datasets, signal) => {
    this.#table.leases.enter(this.#process, signal);
    return datasets.filter((dataset) => this.#table.get('softDelete', dataset)?.state === 'queued');
  };

  depths: Jobs['depths'] = async (signal) => {
    this.#table.leases.enter(this.#process, signal);
    const now = this.#table.clock.now();
    return LANES.map((lane) => {
      const rows = this.#table.rows.filter((row) => row.lane === lane);
      const count = (state: FakeJobRow['state']): number => rows.filter((row) => row.state === state).length;
      const due = rows.filter((row) => ['queued', 'delayed'].includes(row.state) && row.runAt <= now);
      return {
        lane,
        queued: count('queued'),
        running: count('running'),
        delayed: count('delayed'),
        dead: count('dead'),
        oldestMs: Math.max(0, ...due.map((row) => now - row.runAt)),
      };
    });
  };

  #claim(row: FakeJobRow): ClaimedJob | undefined {
    const since = Math.max(row.runAt, this.#table.leases.freeSince(row.dataset));
    const lease = this.#table.leases.take(row.dataset, this.#process);
    if (!lease) return undefined;
    if (row.claim) {
      const isAlive = this.#table.leases.alive(row.claim.process);
      this.#table.record(row, isAlive ? 'lease-lost' : 'process-died', row.claim.process, {
        attempt: row.attempts + 1,
        ms: this.#table.clock.now() - row.claim.since,
      });
    }
    this.#table.put({
      ...row,
      state: 'running',
      again: false,
      claim: { process: this.#process, token: lease.token, since: this.#table.clock.now() },
    });
    const { id, lane, dataset, owner, eventId, source, attempts, crashes, alone, type } = row;
    const waitedMs = this.#table.clock.now() - since;
    const trace = this.#table.traceOf(dataset);
    const traceparent = trace === undefined ? {} : { traceparent: trace };
    return {
      id,
      lane,
      dataset,
      owner,
      eventId,
      source,
      attempts,
      crashes,
      alone,
      type,
      lease,
      waitedMs,
      ...traceparent,
    };
  }

  /** Returns the job that is handed over with it. */
  #complete({ job, outcome, next }: JobCompletion, unreachableTypes?: readonly string[]): ClaimedJob | undefined {
    const row = this.#table.get(job.lane, job.dataset);
    if (row?.id !== job.id || row.claim?.process !== this.#process || row.claim.token !== job.lease.token)
      return undefined;
    if (!this.#table.leases.holds(job.lease, this.#process)) return undefined;
    const after = this.#after(row, outcome);
    if (after) this.#table.put({ ...after, claim: undefined });
    else this.#table.remove(row);
    this.#table.leases.release(job.lease, this.#process);
    const waitsOn = outcome.kind === 'retry' && !outcome.countsAttempt && row.failure?.message === outcome.message;
    if (outcome.record && !waitsOn) {
      const { outcome: ended, ...attempt } = outcome.record;
      this.#table.record({ ...row, eventId: job.eventId }, ended, this.#process, attempt);
    }
    if (after?.state === 'queued') this.#table.wake(row.lane);
    if (after?.state === 'delayed')
      this.#table.clock.after(after.runAt - this.#table.clock.now(), () => this.#table.wake(row.lane));
    const following = next && this.#table.get(next.lane, job.dataset);
    const fits = following?.owner === job.owner && following.type !== undefined && following.type === job.type;
    if (!fits || following.state !== 'queued' || !this.#table.isClaimable(following, unreachableTypes))
      return undefined;
    const others = this.#table.rows.filter(({ lane, id }) => lane === next?.lane && id !== following.id);
    const now = this.#table.clock.now();
    if (next?.last && others.some(({ state, runAt }) => ['queued', 'delayed'].includes(state) && runAt <= now))
      return undefined;
    return this.#claim(following);
  }

  /** The row as the outcome leaves it; undefined when it is over. */
  #after(row: FakeJobRow, outcome: JobOutcome): FakeJobRow | undefined {
    const now = this.#table.clock.now();
    const put = { ...row, again: false };
    switch (outcome.kind) {
      case 'done':
      case 'failed':
      case 'invalid':
        if (!row.again) return undefined;
        return { ...put, state: 'queued', alone: false, attempts: 0, crashes: 0, runAt: now, failure: undefined };
      case 'retry':
        return {
          ...put,
          state: 'delayed',
          alone: false,
          attempts: row.attempts + (outcome.countsAttempt ? 1 : 0),
          runAt: now + (row.again && this.#table.waitsForPause(row.lane, row.dataset) ? 0 : outcome.delayMs),
          failure: { kind: 'transient', message: outcome.message },
        };
      case 'requeue':
        return outcome.crashed ? crashed(row, now) : { ...put, state: 'queued' };
      case 'dead':
        return {
          ...row,
          state: 'dead',
          alone: false,
          attempts: row.attempts + 1,
          runAt: now,
          failure: { kind: outcome.failure, message: outcome.message },
        };
      default:
        return outcome satisfies never;
    }
  }
}

function crashed(row: FakeJobRow, now: number): FakeJobRow {
  const crashes = row.crashes + (row.alone ? 1 : 0);
  const after = { ...row, alone: true, crashes, runAt: now };
  if (!row.alone || crashes < CRASHES_ALONE) return { ...after, state: 'queued', again: false };
  const message = `its worker crashed ${CRASHES_ALONE} times while the job ran alone`;
  return { ...after, state: 'dead', failure: { kind: 'defect', message } };
}
