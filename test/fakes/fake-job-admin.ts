// The job table in memory as an administrator sees it, with the catalog whose statuses a retry opens again.

import type { DatasetId } from '../../engine/model/ids.ts';
import type { JobAdmin, JobEntry, JobFilter, JobList, JobPage, RetryResult } from '../../engine/ports/job-admin.ts';
import type { FakeDataset } from './fake-catalog.ts';
import type { FakeJobRow, JobTable } from './fake-jobs.ts';

/** What a retry looks at in the catalog. */
type Statuses = Pick<FakeDataset, 'upload' | 'import'>;

export class FakeJobAdmin<Dataset extends Statuses> implements JobAdmin {
  readonly #table: JobTable;
  readonly #datasets: Map<DatasetId, Dataset>;

  constructor(table: JobTable, datasets: Map<DatasetId, Dataset>) {
    this.#table = table;
    this.#datasets = datasets;
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
    const known = this.#datasets.get(row.dataset);
    if (row.lane === 'import' && known?.import.status === 'failed')
      this.#datasets.set(row.dataset, { ...known, import: { status: 'queued', messages: [] } });
    if (row.lane === 'upload' && known?.upload.status === 'failed')
      this.#datasets.set(row.dataset, { ...known, upload: { status: 'running', message: undefined } });
    this.#table.wake(row.lane);
    return 'queued';
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
