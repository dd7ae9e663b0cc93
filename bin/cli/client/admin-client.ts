// Client for the administrators' part of the installer's API. Every call has a deadline and a signal.

import type { LogLevel } from '../../../engine/model/log-level.ts';
import type { PausePlace } from '../../../engine/ports/pauses.ts';
import type { LevelChange, ReloadReport } from '../../../engine/ports/process-control.ts';
import type {
  DatasetHistoryPage,
  DatasetHistoryQuery,
  HandledProblems,
  JobsQuery,
  JobsReport,
  ProblemQuery,
  PruneRun,
  ReconcileRun,
  ReportedCause,
  ReportedHistory,
  ReportedPause,
  ReportedProblem,
  ReportedRuns,
} from './admin-reports.ts';
import { bodyOf, callApi, withDeadline } from './api-call.ts';

interface AdminClientOptions {
  /** Base URL without trailing slash. */
  readonly server: string;
  readonly adminToken: string;
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

  /** Names of the lanes that the responding process has paused. */
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
