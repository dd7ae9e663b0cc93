// The job table in memory as an administrator sees it, with the catalog in which a retry opens what
// the lane is to do.

import type { JobAdmin, JobEntry } from '../../engine/ports/jobs.ts';
import type { FakeCatalog } from './fake-catalog.ts';
import type { FakeJobRow, JobTable } from './fake-jobs.ts';

export class FakeJobAdmin implements JobAdmin {
  readonly #table: JobTable;
  readonly #catalog: FakeCatalog;

  constructor(table: JobTable, catalog: FakeCatalog) {
    this.#table = table;
    this.#catalog = catalog;
  }

  list: JobAdmin['list'] = async (filter, { limit, offset }, signal) => {
    signal.throwIfAborted();
    const matching = this.#table.rows.filter(
      (row) => row.lane === (filter.lane ?? row.lane) && row.state === (filter.state ?? row.state),
    );
    return { jobs: matching.slice(offset, offset + limit).map(entryOf), total: matching.length };
  };

  dataset: JobAdmin['dataset'] = async (id, signal) => {
    signal.throwIfAborted();
    return this.#table.rows.find((row) => row.id === id)?.dataset;
  };

  retry: JobAdmin['retry'] = async (id, signal) => {
    signal.throwIfAborted();
    const row = this.#table.rows.find((one) => one.id === id);
    if (!row) return 'not-found';
    if (row.state === 'running' || row.state === 'queued') return row.state;
    const history = { attempts: 0, crashes: 0, alone: false, again: false, failure: undefined };
    this.#table.record(row, 'retried', undefined);
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
  };

  revive: JobAdmin['revive'] = async (lane, dataset, signal) => {
    signal.throwIfAborted();
    const dead = this.#table.rows.find((row) => row.lane === lane && row.dataset === dataset && row.state === 'dead');
    return dead !== undefined && (await this.retry(dead.id, signal)) === 'queued';
  };
}

const entryOf = ({ failure, runAt, created, ...row }: FakeJobRow): JobEntry => {
  const { id, lane, dataset, owner, state, attempts, eventId } = row;
  const known = { id, lane, dataset, owner, state, attempts, eventId, message: failure?.message };
  return { ...known, runAt: state === 'dead' ? undefined : new Date(runAt), created: new Date(created) };
};
