// The administrators' part of the installer's API, as the command line uses it. Every call has a deadline and a signal.

import type { LaneName } from '../../engine/model/event.ts';
import type { JobState } from '../../engine/ports/job-admin.ts';
import { bodyOf, callApi, withDeadline } from './api-call.ts';

export interface AdminClientOptions {
  /** Base URL without trailing slash. */
  readonly server: string;
  readonly adminToken: string;
}

export interface ReportedLane {
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
  /** Decimal text: it may be above 2^53. */
  readonly owner: string;
  readonly state: JobState;
  readonly tries: number;
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

export interface JobsQuery {
  readonly lane?: string;
  readonly state?: string;
  readonly limit: number;
}

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

  async #call(method: string, path: string, signal: AbortSignal): Promise<unknown> {
    const { server, adminToken } = this.#options;
    const headers = { 'admin-token': adminToken };
    return bodyOf(await callApi({ server, path, method, headers }, withDeadline(signal)));
  }
}
