// The job table in memory as an administrator sees it, with the catalog in which a retry opens what
// the lane is to do.

import type { LaneName } from '../../engine/model/event.ts';
import type { DatasetId } from '../../engine/model/ids.ts';
import type { JobAdmin, JobEntry, JobFilter, JobList, JobPage, RetryResult } from '../../engine/ports/job-admin.ts';
import type { FakeCatalog } from './fake-catalog.ts';
import type { FakeJobRow, JobTable } from './fake-jobs.ts';

export class FakeJobAdmin implements JobAdmin {
  readonly #table: JobTable;
  readonly #catalog: FakeCatalog;

  constructor(table: JobTable, catalog: FakeCatalog) {
    this.#table = table;
    this.#catalog = catalog;
  }

  async list(filter: JobFilter, { limit, offset }: JobPage, signal: AbortSignal): Promise<JobList> {
    signal.throwIfAborted();
    const matching = this.#table.rows.filter(
      (row) => row.lane === (filter.lane ?? row.lane) && row.state === (filter.state ?? row.state),
    );
    return { jobs: matching.slice(offset, offset + limit).map(entryOf), total: matching.length };
  }

  async retry(id: number, signal: AbortSignal): Promise<RetryResult> {
    signal.throwIfAborted();
    const row = this.#table.rows.find((one) => one.id === id);
    if (!row) return 'not-found';
    if (row.state === 'running' || row.state === 'queued') return row.state;
    const history = { tries: 0, crashes: 0, alone: false, again: false, failure: undefined };
    this.#table.put({ ...row, ...history, state: 'queued', runAt: this.#table.clock.now() });
    const { datasets } = this.#catalog;
    const known = datasets.get(row.dataset);
    if (row.lane === 'import' && known?.import.status === 'failed')
      datasets.set(row.dataset, { ...known, import: { status: 'queued', messages: [] } });
    if (row.lane === 'upload' && known?.upload.status === 'failed')
      datasets.set(row.dataset, { ...known, upload: { status: 'running', message: undefined } });
    if (row.lane === 'install') this.#catalog.makeDue(row.dataset, 'data');
    if (row.lane === 'updateMeta') this.#catalog.makeDue(row.dataset, 'meta');
    this.#table.wake(row.lane);
    return 'queued';
  }

  async revive(lane: LaneName, dataset: DatasetId, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const dead = this.#table.rows.find((row) => row.lane === lane && row.dataset === dataset && row.state === 'dead');
    return dead !== undefined && (await this.retry(dead.id, signal)) === 'queued';
  }
}

const entryOf = ({
  id,
  lane,
  dataset,
  owner,
  state,
  tries,
  eventId,
  failure,
  runAt,
  created,
}: FakeJobRow): JobEntry => ({
  id,
  lane,
  dataset,
  owner,
  state,
  tries,
  eventId,
  message: failure?.message,
  runAt: state === 'dead' ? undefined : new Date(runAt),
  created: new Date(created),
});
