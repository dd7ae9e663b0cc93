// Report jobs in memory, shared by several "processes".

import type { Tenant } from '../../engine/model/ids.ts';
import type { ReportFile, ReportJobId, ReportRequest } from '../../engine/model/report/report-job.ts';
import type { Traceparent } from '../../engine/model/traceparent.ts';
import type {
  ReportClaim,
  ReportExpiry,
  ReportJob,
  ReportJobs,
  ReportOutcome,
  ReportQueue,
  StoredReportFile,
  SubmitRules,
} from '../../engine/ports/report-jobs.ts';

interface Row {
  job: ReportJob;
  /** From when it may be claimed. */
  from: Date;
  attempts: number;
  holder: number | undefined;
  lapsed: boolean;
  files: readonly StoredReportFile[];
  stderr: string | undefined;
  debrisTo: number | undefined;
  traceparent: Traceparent | undefined;
  tenant: Tenant;
}

const NOTED_AFTER_MS = 60_000;

/** What all processes see. */
export class ReportTable {
  readonly rows = new Map<ReportJobId, Row>();
  readonly dead = new Set<number>();
  readonly wakes = new Set<() => void>();

  fullFor({
    maxQueued,
    maxQueuedPerTenant,
    tenant,
  }: Omit<SubmitRules, 'now' | 'failedBefore'>): 'full' | 'share-full' | undefined {
    if (this.waitingFor(tenant) >= maxQueuedPerTenant) return 'share-full';
    return [...this.rows.values()].filter(({ job }) => job.status === 'queued').length >= maxQueued
      ? 'full'
      : undefined;
  }

  get anyWaits(): boolean {
    return [...this.rows.values()].some(({ job }) => job.status === 'queued');
  }

  waitingFor(tenant: Tenant): number {
    return [...this.rows.values()].filter((row) => row.job.status === 'queued' && row.tenant === tenant).length;
  }

  wake(): void {
    for (const wake of this.wakes) wake();
  }
}

/** Without collections: nobody's link is kept. */
export class FakeReportJobs implements ReportJobs {
  readonly #table: ReportTable;

  constructor(table = new ReportTable()) {
    this.#table = table;
  }

  submit: ReportJobs['submit'] = async (request, _link, rules, signal) => {
    signal.throwIfAborted();
    const { now, failedBefore, tenant } = rules;
    const row = this.#table.rows.get(request.id);
    const failedLongAgo = row?.job.status === 'failed' && row.job.ended !== undefined && row.job.ended <= failedBefore;
    const waits = !row || row.job.status === 'expired' || failedLongAgo;
    const full = waits ? this.#table.fullFor(rules) : undefined;
    if (full) return full;
    if (!row) this.#table.rows.set(request.id, newRow(request, rules));
    else if (waits) queueAgain(row, rules);
    else if (row.job.accessed < now) row.job = { ...row.job, accessed: now };
    const moves =
      !waits && row.job.status === 'queued' && this.#table.waitingFor(tenant) < this.#table.waitingFor(row.tenant);
    if (moves) row.tenant = tenant;
    if (waits || moves) this.#table.wake();
    return waits ? 'queued' : 'known';
  };

  requeue: ReportJobs['requeue'] = async (id, rules, signal) => {
    signal.throwIfAborted();
    const row = this.#table.rows.get(id);
    if (!row) return 'absent';
    if (row.job.status !== 'expired') return 'refused';
    const full = this.#table.fullFor(rules);
    if (full) return full;
    queueAgain(row, rules);
    this.#table.wake();
    return 'queued';
  };

  read: ReportJobs['read'] = async (id, _reader, now, signal) => {
    signal.throwIfAborted();
    const row = this.#table.rows.get(id);
    if (!row) return undefined;
    const { job } = row;
    if (now.getTime() - job.accessed.getTime() > NOTED_AFTER_MS) row.job = { ...job, accessed: now };
    return { job, meta: undefined };
  };

  async *files(...[id, signal]: Parameters<ReportJobs['files']>): AsyncGenerator<ReportFile> {
    signal.throwIfAborted();
    for (const { name, size } of this.#table.rows.get(id)?.files ?? []) yield { name, size };
  }

  file: ReportJobs['file'] = async (id, name, signal) => {
    signal.throwIfAborted();
    return this.#table.rows.get(id)?.files.find((file) => file.name === name);
  };

  stderr: ReportJobs['stderr'] = async (id, signal) => {
    signal.throwIfAborted();
    return this.#table.rows.get(id)?.stderr;
  };

  statuses: ReportJobs['statuses'] = async (ids, signal) => {
    signal.throwIfAborted();
    const found = ids.map((id) => this.#table.rows.get(id)?.job);
    return new Map(found.flatMap((job) => (job ? [[job.id, job.status]] : [])));
  };

  async *failed(...[signal]: Parameters<ReportJobs['failed']>): ReturnType<ReportJobs['failed']> {
    signal.throwIfAborted();
    const all = [...this.#table.rows.values()].map(({ job }) => job);
    for (const { ended, failure, ...job } of all.sort((a, b) => (a.id < b.id ? -1 : 1))) {
      const { id, queryId, configuration, fingerprint, created } = job;
      if (ended && failure !== undefined) yield { id, queryId, configuration, fingerprint, created, ended, failure };
    }
  }
}

export class FakeReportQueue implements ReportQueue {
  readonly #table: ReportTable;
  readonly #process: number;

  constructor(table: ReportTable, process = 1) {
    this.#table = table;
    this.#process = process;
  }

  completeAndFetch: ReportQueue['completeAndFetch'] = async (done, { limit, withheld = [] }, now, signal) => {
    signal.throwIfAborted();
    for (const { claim, outcome } of done) {
      const row = this.#held(claim);
      if (row) end(row, outcome);
      if (row && outcome.kind === 'again') this.#table.wake();
    }
    if (limit <= 0) return [];
    for (const row of this.#table.rows.values())
      if (row.holder !== undefined && (row.lapsed || this.#table.dead.has(row.holder))) {
        row.holder = undefined;
        row.job = { ...row.job, status: 'queued' };
      }
    const due = [...this.#table.rows.values()].filter(({ job, from }) => job.status === 'queued' && from <= now);
    due.sort((a, b) => a.from.getTime() - b.from.getTime() || (a.job.id < b.job.id ? -1 : 1));
    const turns = new Map<Tenant, number>();
    const takeTurn = (tenant: Tenant): number => {
      turns.set(tenant, (turns.get(tenant) ?? 0) + 1);
      return turns.get(tenant) ?? 0;
    };
    for (const { job, tenant } of this.#table.rows.values()) if (job.status === 'in-progress') takeTurn(tenant);
    const ranked = due.map((row) => ({ row, turn: takeTurn(row.tenant) }));
    return ranked
      .filter(({ row }) => !withheld.includes(row.tenant))
      .sort((a, b) => a.turn - b.turn)
      .slice(0, limit)
      .map(({ row }) => this.#claim(row, now));
  };

  renew: ReportQueue['renew'] = async (claims, signal) => {
    signal.throwIfAborted();
    return claims.filter((claim) => {
      const row = this.#held(claim);
      if (row) row.lapsed = false;
      return row === undefined;
    });
  };

  watch(wake: () => void): () => void {
    this.#table.wakes.add(wake);
    return () => this.#table.wakes.delete(wake);
  }

  #held({ id, attempt }: Pick<ReportClaim, 'id' | 'attempt'>): Row | undefined {
    const row = this.#table.rows.get(id);
    return row?.holder === this.#process && row.job.attempt === attempt ? row : undefined;
  }

  #claim(row: Row, now: Date): ReportClaim {
    const { job, tenant } = row;
    if (job.attempt > 0) row.debrisTo = job.attempt;
    row.holder = this.#process;
    row.lapsed = false;
    row.job = { ...job, status: 'in-progress', started: now, attempt: job.attempt + 1 };
    const { id, queryId, configuration, fingerprint } = job;
    const trace = row.traceparent && { traceparent: row.traceparent };
    const waitedMs = now.getTime() - row.from.getTime();
    return {
      id,
      queryId,
      configuration,
      fingerprint,
      attempt: job.attempt + 1,
      attempts: row.attempts,
      waitedMs,
      tenant,
      ...trace,
    };
  }
}

export class FakeReportExpiry implements ReportExpiry {
  readonly #table: ReportTable;

  constructor(table: ReportTable) {
    this.#table = table;
  }

  expire: ReportExpiry['expire'] = async (before, limit, signal) => {
    signal.throwIfAborted();
    const idle = [...this.#table.rows.values()].filter(
      ({ job }) => (job.status === 'complete' || job.status === 'failed') && job.accessed <= before,
    );
    idle.sort((a, b) => a.job.accessed.getTime() - b.job.accessed.getTime());
    for (const row of idle.slice(0, limit)) expireRow(row);
    return Math.min(idle.length, limit);
  };

  expireOne: ReportExpiry['expireOne'] = async (id, signal) => {
    signal.throwIfAborted();
    const row = this.#table.rows.get(id);
    if (!row) return 'absent';
    if (row.job.status === 'queued' || row.job.status === 'in-progress') return 'running';
    if (row.job.status !== 'expired') expireRow(row);
    return 'expired';
  };

  debris: ReportExpiry['debris'] = async (after, limit, signal) => {
    signal.throwIfAborted();
    const found = [...this.#table.rows].flatMap(([id, { debrisTo }]) =>
      debrisTo !== undefined && (after === undefined || id > after) ? [{ id, upTo: debrisTo }] : [],
    );
    return found.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit);
  };

  removed: ReportExpiry['removed'] = async ({ id, upTo }, signal) => {
    signal.throwIfAborted();
    const row = this.#table.rows.get(id);
    if (row?.debrisTo === upTo) row.debrisTo = undefined;
  };
}

const newRow = (request: ReportRequest, { now, traceparent, tenant }: SubmitRules): Row => ({
  job: {
    ...structuredClone(request),
    ...{ status: 'queued', created: now, started: undefined, ended: undefined, accessed: now, attempt: 0 },
    failure: undefined,
  },
  ...{ from: now, attempts: 0, holder: undefined, lapsed: false },
  ...{ files: [], stderr: undefined, debrisTo: undefined, traceparent, tenant },
});

function expireRow(row: Row): void {
  row.job = { ...row.job, status: 'expired', ended: undefined, failure: undefined };
  row.files = [];
  row.stderr = undefined;
  row.debrisTo = row.job.attempt;
}

function queueAgain(row: Row, { now, traceparent, tenant }: Omit<SubmitRules, 'failedBefore'>): void {
  const ended = { started: undefined, ended: undefined, failure: undefined };
  row.job = { ...row.job, status: 'queued', accessed: now, ...ended };
  row.from = now;
  row.attempts = 0;
  row.stderr = undefined;
  row.traceparent = traceparent;
  row.tenant = tenant;
}

function end(row: Row, outcome: ReportOutcome): void {
  const { job } = row;
  row.holder = undefined;
  if (outcome.kind === 'again') {
    row.job = { ...job, status: 'queued' };
    row.from = outcome.from;
    row.attempts += outcome.countsAttempt ? 1 : 0;
    row.debrisTo = job.attempt;
    return;
  }
  const accessed = outcome.ended > job.accessed ? outcome.ended : job.accessed;
  const failure = outcome.kind === 'failed' ? outcome.reason : undefined;
  row.job = { ...job, status: outcome.kind, ended: outcome.ended, accessed, failure };
  row.stderr = outcome.stderr;
  if (outcome.kind === 'complete') row.files = outcome.files;
  else row.debrisTo = job.attempt;
}
