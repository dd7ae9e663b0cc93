// The history of datasets in memory: what FakeJobs and FakeJobAdmin write into their table.

import type { HistoryPlace, JobHistory } from '../../engine/ports/job-history.ts';
import type { JobTable } from './fake-jobs.ts';

const PAGE_BYTES = 256 * 1024;

export class FakeJobHistory implements JobHistory {
  readonly #table: Pick<JobTable, 'history'>;

  constructor(table: Pick<JobTable, 'history'>) {
    this.#table = table;
  }

  page: JobHistory['page'] = async (dataset, { limit, order, after }, signal) => {
    signal.throwIfAborted();
    const sign = order === 'newest-first' ? -1 : 1;
    const found = this.#table.history
      .filter((entry) => entry.dataset === dataset && (!after || sign * compare(entry, after) > 0))
      .toSorted((a, b) => sign * compare(a, b))
      .map(({ dataset: _dataset, ...entry }) => entry);
    let bytes = 0;
    const end = found.findIndex((entry, i) => {
      bytes += JSON.stringify(entry).length;
      return i >= limit || (i > 0 && bytes > PAGE_BYTES);
    });
    const entries = end === -1 ? found : found.slice(0, end);
    const last = entries.at(-1);
    return {
      entries,
      ...(last && entries.length < found.length ? { next: { at: last.at, number: last.number } } : {}),
    };
  };

  dropBefore: JobHistory['dropBefore'] = async (at, signal) => {
    signal.throwIfAborted();
    const { history } = this.#table;
    this.#table.history = history.filter((entry) => entry.at >= at);
    return history.length - this.#table.history.length;
  };
}

const compare = (a: HistoryPlace, b: HistoryPlace): number => a.at - b.at || a.number - b.number;
