// Client for the administrators' part of the installer's API. Every call has a deadline and a signal.

import type { LaneName } from '../../../engine/model/event.ts';
import type { LogLevel } from '../../../engine/model/log-level.ts';
import type { JobState } from '../../../engine/ports/jobs.ts';
import type { PauseKind, PausePlace } from '../../../engine/ports/pauses.ts';
import type { ProblemLane, ProblemState } from '../../../engine/ports/problems.ts';
import type { LevelChange, ReloadReport } from '../../../engine/ports/process-control.ts';
import { bodyOf, callApi, withDeadline } from './api-call.ts';

interface AdminClientOptions {
  /** Base URL without trailing slash. */
  readonly server: string;
  readonly adminToken: string;
}

interface ReportedLane {
  readonly lane: LaneName;
  readonly queued: number;
  readonly running: number;
  readonly delayed: number;
  readonly dead: number;
  readonly oldestSeconds: number;
}

export interface ReportedJob {
  readonly id: number;
  readonly lane: LaneName;
  readonly datasetId: string;
  /** Decimal text, because it may exceed 2^53. */
  readonly owner: string;
  readonly state: JobState;
  readonly attempts: number;
  readonly eventId: number;
  readonly message?: string;
  readonly runAt?: string;
  readonly created: string;
}

export interface JobsReport {
  readonly meta: { readonly count: number; readonly offset: number; readonly limit: number; readonly total: number };
  readonly lanes: readonly ReportedLane[];
  readonly results: readonly ReportedJob[];
}

/** Averages by series, oldest first; null where nothing was sampled. */
export interface ReportedHistory {
  readonly step: number;
  readonly series: Readonly<Record<string, readonly (number | null)[]>>;
}

export interface ReportedCall {
  readonly call: string;
  readonly plugin?: string;
  readonly target?: string;
  readonly ms: number;
  readonly outcome: string;
  readonly message?: string;
  readonly exitCode?: number;
  readonly output?: string;
}

/** An entry in the history of a dataset. It has either `job` or `request`. */
export interface ReportedEntry {
  readonly at: string;
  readonly job?: {
    readonly lane: LaneName;
    readonly outcome: string;
    readonly attempt?: number;
    readonly ms?: number;
    readonly message?: string;
    readonly calls?: readonly ReportedCall[];
    readonly process?: { readonly instance: number; readonly host: string; readonly pid: number };
  };
  readonly request?: {
    readonly actor: { readonly kind: string; readonly id?: string };
    readonly method: string;
    readonly route: string;
    readonly outcome: string;
    readonly status?: number;
  };
}

interface DatasetHistoryQuery {
  readonly order: 'oldest-first' | 'newest-first';
  readonly limit: number;
  /** `next` of the page before. */
  readonly after?: string;
}

interface DatasetHistoryPage {
  readonly results: readonly ReportedEntry[];
  readonly next?: string;
}

export interface ReportedPause {
  readonly kind: PauseKind;
  readonly name: string;
  readonly since: string;
  readonly by: string;
  readonly reason?: string;
  readonly until?: string;
}

export interface ReportedProblem {
  readonly id: string;
  readonly lane: ProblemLane;
  readonly state: ProblemState;
  readonly datasetId?: string;
  readonly owner?: string;
  readonly type?: string;
  readonly installTarget?: string;
  readonly message: string;
  readonly cause: string;
  readonly since: string;
}

export interface ReportedCause {
  readonly cause: string;
  readonly lane: ProblemLane;
  readonly state: ProblemState;
  readonly count: number;
  readonly oldest: string;
  readonly newest: string;
  readonly example: { readonly id: string; readonly message: string };
}

/** What an order did, or with `dryRun` would do. */
export interface HandledProblems {
  readonly dryRun: boolean;
  readonly problems: number;
  readonly done: number;
  readonly lanes: readonly {
    readonly lane: ProblemLane;
    readonly problems: number;
    readonly done: number;
    /** By reason. */
    readonly skipped: Readonly<Record<string, number>>;
  }[];
  readonly next?: string;
}

/** As in the query of the API. */
export type ProblemQuery = Readonly<Record<string, string>>;

interface JobsQuery {
  readonly lane?: string;
  readonly state?: string;
  readonly limit: number;
}

/** A run of a daemon, current or last. `ended` is absent while it is in progress. */
export interface ReportedRun {
  readonly started: string;
  readonly ended?: string;
  /** Why it ended early. */
  readonly failure?: string;
}

export interface ReportedRuns<Run extends ReportedRun> {
  readonly current?: Run;
  readonly last?: Run;
}

export interface ReconcileRun extends ReportedRun {
  readonly kind: 'full' | 'slim';
  readonly listed: number;
  readonly malformed: number;
  readonly reconciled: number;
  /** By database. */
  readonly absent: Readonly<Record<string, number>>;
  readonly deleted: number;
  readonly spared: number;
  readonly leftOut: readonly { readonly installTarget: string; readonly reason: string }[];
  readonly braked?: string;
}

export interface PruneRun extends ReportedRun {
  readonly cutoff: string;
  readonly pruned: number;
  readonly trimmed: number;
  /** By reason. */
  readonly skipped: Readonly<Record<string, number>>;
  readonly failures: number;
}

const RECONCILE = '/admin/rpc/datasets/reconcile';
const PRUNE = '/admin/rpc/datasets/prune';
const RELOAD = '/admin/rpc/config/reload';
const STORE_HOLD = '/admin/rpc/object-store/hold';
const LOG_LEVEL = '/admin/rpc/log/level';

export class AdminClient {
  readonly #options: AdminClientOptions;

  constructor(options: AdminClientOptions) {
    this.#options = options;
  }

  async jobs({ limit, ...filter }: JobsQuery, signal: AbortSignal): Promise<JobsReport> {
    const query = new URLSearchParams({ ...filter, limit: String(limit) });
    return (await this.#call('GET', `/admin/reports/jobs?${query}`, signal)) as JobsReport;
  }

  async retry(id: number, signal: AbortSignal): Promise<{ readonly id: number; readonly state: string }> {
    return (await this.#call('POST', `/admin/rpc/jobs/${id}/retry`, signal)) as { id: number; state: string };
  }

  async cancel(
    id: number,
    order: { readonly hard: boolean; readonly reason?: string },
    signal: AbortSignal,
  ): Promise<{ readonly id: number; readonly state: string }> {
    return (await this.#call('POST', `/admin/rpc/jobs/${id}/cancel`, signal, order)) as { id: number; state: string };
  }

  /** @param series as in the query of the API */
  async history(series: string, stepSeconds: number, signal: AbortSignal): Promise<ReportedHistory> {
    const query = new URLSearchParams({ series, step: String(stepSeconds) });
    return (await this.#call('GET', `/admin/metrics/history?${query}`, signal)) as ReportedHistory;
  }

  async datasetHistory(
    dataset: string,
    { limit, ...asked }: DatasetHistoryQuery,
    signal: AbortSignal,
  ): Promise<DatasetHistoryPage> {
    const query = new URLSearchParams({ ...asked, limit: String(limit) });
    const path = `/admin/datasets/${encodeURIComponent(dataset)}/history?${query}`;
    return (await this.#call('GET', path, signal)) as DatasetHistoryPage;
  }

  async problems(
    query: ProblemQuery,
    signal: AbortSignal,
  ): Promise<{ readonly results: readonly ReportedProblem[]; readonly next?: string }> {
    const path = `/admin/problems?${new URLSearchParams(query)}`;
    return (await this.#call('GET', path, signal)) as { results: readonly ReportedProblem[]; next?: string };
  }

  async problemCauses(query: ProblemQuery, signal: AbortSignal): Promise<readonly ReportedCause[]> {
    const path = `/admin/problems/causes?${new URLSearchParams(query)}`;
    return ((await this.#call('GET', path, signal)) as { results: readonly ReportedCause[] }).results;
  }

  async problemOrder(name: string, order: object, signal: AbortSignal): Promise<HandledProblems> {
    return (await this.#call('POST', `/admin/problems/${name}`, signal, order)) as HandledProblems;
  }

  async pauses(signal: AbortSignal): Promise<readonly ReportedPause[]> {
    const { results } = (await this.#call('GET', '/admin/pauses', signal)) as { results: readonly ReportedPause[] };
    return results;
  }

  async pause(
    place: PausePlace,
    order: { readonly reason?: string; readonly until?: string },
    signal: AbortSignal,
  ): Promise<ReportedPause> {
    return (await this.#call('PUT', pausePath(place), signal, order)) as ReportedPause;
  }

  async resume(place: PausePlace, signal: AbortSignal): Promise<void> {
    await this.#call('DELETE', pausePath(place), signal);
  }

  health(signal: AbortSignal): Promise<unknown> {
    return this.#call('GET', '/health', signal);
  }

  /** In the format of Prometheus. */
  async metrics(signal: AbortSignal): Promise<string> {
    const { server, adminToken } = this.#options;
    const headers = { 'admin-token': adminToken };
    return (await callApi({ server, path: '/metrics', headers }, withDeadline(signal))).text();
  }

  /** Names of the lanes that the process that answers keeps from claiming. */
  async pausedLanes(signal: AbortSignal): Promise<readonly string[]> {
    const { paused = [] } = (await this.health(signal)) as { paused?: readonly PausePlace[] };
    return paused.filter(({ kind }) => kind === 'lane').map(({ name }) => name);
  }

  async holdStore(seconds: number, signal: AbortSignal): Promise<void> {
    // The server answers once changes that had begun have ended.
    await this.#call('POST', STORE_HOLD, signal, { seconds });
  }

  async releaseStore(signal: AbortSignal): Promise<{ readonly held: boolean }> {
    return (await this.#call('DELETE', STORE_HOLD, signal)) as { held: boolean };
  }

  /** Resolves with the server's response once a full run has started. */
  reconcile(allowDeletes: boolean, signal: AbortSignal): Promise<unknown> {
    return this.#call('POST', `${RECONCILE}?allow-deletes=${allowDeletes}`, signal);
  }

  async reconcileRuns(signal: AbortSignal): Promise<ReportedRuns<ReconcileRun>> {
    return (await this.#call('GET', RECONCILE, signal)) as ReportedRuns<ReconcileRun>;
  }

  /** Resolves with the server's response once a run has started. @param ageCutoff a duration; default: the server's */
  prune(ageCutoff: string | undefined, signal: AbortSignal): Promise<unknown> {
    const query = ageCutoff === undefined ? '' : `?${new URLSearchParams({ age_cutoff: ageCutoff })}`;
    return this.#call('POST', PRUNE + query, signal);
  }

  async pruneRuns(signal: AbortSignal): Promise<ReportedRuns<PruneRun>> {
    return (await this.#call('GET', PRUNE, signal)) as ReportedRuns<PruneRun>;
  }

  async reload(signal: AbortSignal): Promise<ReloadReport> {
    return (await this.#call('POST', RELOAD, signal)) as ReloadReport;
  }

  async logLevel(signal: AbortSignal): Promise<{ readonly level: LogLevel }> {
    return (await this.#call('GET', LOG_LEVEL, signal)) as { level: LogLevel };
  }

  async setLogLevel(level: LogLevel, signal: AbortSignal): Promise<LevelChange> {
    return (await this.#call('POST', `${LOG_LEVEL}?${new URLSearchParams({ level })}`, signal)) as LevelChange;
  }

  /** JSON lines as they arrive; rejects when the stream breaks off. */
  async *audit(filter: Readonly<Record<string, string>>, signal: AbortSignal): AsyncGenerator<string> {
    const { server, adminToken } = this.#options;
    const headers = { 'admin-token': adminToken, accept: 'application/x-ndjson' };
    const response = await callApi({ server, path: `/admin/audit?${new URLSearchParams(filter)}`, headers }, signal);
    if (response.body) yield* response.body.pipeThrough(new TextDecoderStream('utf-8', { fatal: true }));
  }

  async #call(method: string, path: string, signal: AbortSignal, body?: object): Promise<unknown> {
    const { server, adminToken } = this.#options;
    const headers = { 'admin-token': adminToken, ...(body ? { 'content-type': 'application/json' } : {}) };
    const call = { server, path, method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
    return bodyOf(await callApi(call, withDeadline(signal)));
  }
}

const pausePath = ({ kind, name }: PausePlace): string => `/admin/pauses/${kind}/${encodeURIComponent(name)}`;
