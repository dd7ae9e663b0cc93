// Collections of report jobs in memory.

import type { QueryJobId } from '../../engine/model/report/query-job.ts';
import type { ReportJobId } from '../../engine/model/report/report-job-id.ts';
import type { Collector, UserMetaChange } from '../../engine/model/report-job.ts';
import type { CollectedReport, ReportCollections } from '../../engine/ports/report-collections.ts';
import { isSame, type ReportTable } from './fake-report-jobs.ts';

export class FakeReportCollections implements ReportCollections {
  readonly #table: ReportTable;

  constructor(table: ReportTable) {
    this.#table = table;
  }

  async *list(
    user: Collector,
    filter: { readonly queryId?: QueryJobId | undefined },
    signal: AbortSignal,
  ): AsyncGenerator<CollectedReport> {
    signal.throwIfAborted();
    for (const link of this.#table.links.filter((one) => isSame(one.user, user)).reverse()) {
      const job = this.#table.rows.get(link.id)?.job;
      if (!job || (filter.queryId !== undefined && job.queryId !== filter.queryId)) continue;
      yield { id: job.id, queryId: job.queryId, status: job.status, meta: link.meta };
    }
  }

  async annotate(user: Collector, id: ReportJobId, change: UserMetaChange, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    if (!this.#table.link(user, id)) return false;
    this.#table.put(user, id, change);
    return true;
  }

  async remove(user: Collector, id: ReportJobId, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const before = this.#table.links.length;
    this.#table.links = this.#table.links.filter((one) => !isSame(one.user, user) || one.id !== id);
    return this.#table.links.length < before;
  }

  async handOver(from: Collector, to: Collector, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const given = this.#table.links.filter(({ user }) => isSame(user, from));
    this.#table.links = this.#table.links.filter(({ user }) => !isSame(user, from));
    for (const { id, meta } of given) {
      const known = this.#table.link(to, id)?.meta;
      this.#table.put(to, id, { ...meta, ...known });
    }
  }
}
