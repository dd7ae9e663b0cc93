// What administrators read about all datasets, over the fake of the catalog.

import { isDeleted } from '../../engine/model/status.ts';
import type { DatasetRecord, InstallRecord } from '../../engine/ports/catalog.ts';
import type {
  DatasetReports,
  DatasetStatus,
  FailedImport,
  FailedImportFilter,
  ReportFilter,
  ReportPage,
  StuckStatus,
} from '../../engine/ports/dataset-reports.ts';
import type { FakeCatalog, FakeDataset } from './fake-catalog.ts';

export class FakeDatasetReports implements DatasetReports {
  readonly #catalog: FakeCatalog;
  readonly #inserted: Date;

  /** @param inserted when the catalog came to know every dataset */
  constructor(catalog: FakeCatalog, inserted: Date) {
    this.#catalog = catalog;
    this.#inserted = inserted;
  }

  count: DatasetReports['count'] = async (filter, signal) => {
    signal.throwIfAborted();
    return this.#matching(filter).length;
  };

  async *all(filter: ReportFilter, page: ReportPage, signal: AbortSignal): AsyncIterable<DatasetRecord> {
    signal.throwIfAborted();
    for (const known of cut(this.#matching(filter), page)) yield await this.#record(known, signal);
  }

  find: DatasetReports['find'] = async (dataset, signal) => {
    signal.throwIfAborted();
    const known = this.#catalog.datasets.get(dataset);
    if (!known || known.state === 'receiving') return undefined;
    return { ...(await this.#record(known, signal)), inserted: this.#inserted };
  };

  async *failedImports(
    { owner, before, after, order }: FailedImportFilter,
    page: ReportPage,
    signal: AbortSignal,
  ): AsyncIterable<FailedImport> {
    signal.throwIfAborted();
    const found = [...this.#catalog.datasets.values()]
      .filter((known) => known.state === 'live' && known.import.status === 'failed')
      .filter((known) => owner === undefined || known.owner === owner)
      .filter((known) => !before || createdMs(known) < before.getTime())
      .filter((known) => !after || createdMs(known) >= after.getTime())
      .sort(byCreation);
    for (const known of cut(order === 'asc' ? found : found.reverse(), page))
      yield {
        owner: known.owner,
        dataset: known.dataset,
        type: known.metadata.type,
        installTargets: [...new Set(known.metadata.installTargets)].sort(),
        messages: known.import.messages,
      };
  }

  async *stuckInstalls(status: StuckStatus, signal: AbortSignal): AsyncIterable<DatasetRecord> {
    signal.throwIfAborted();
    const first = ({ installs }: FakeDataset): InstallRecord | undefined =>
      installs.find((install) => install.status === status);
    const found = [...this.#catalog.datasets.values()]
      .filter((known) => known.state === 'live' && first(known))
      .map((known) => ({ known, place: `${first(known)?.target} ${known.dataset}` }))
      .sort((a, b) => (a.place < b.place ? -1 : 1));
    for (const { known } of found) {
      signal.throwIfAborted();
      yield await this.#record(known, signal);
    }
  }

  statuses: DatasetReports['statuses'] = async (signal) => {
    signal.throwIfAborted();
    const counts = new Map<DatasetStatus, number>();
    for (const { state, upload, import: imported } of this.#catalog.datasets.values()) {
      if (state === 'receiving') continue;
      const live = upload.status === 'success' ? imported.status : (`upload-${upload.status}` as const);
      const status = state === 'live' ? live : state;
      counts.set(status, (counts.get(status) ?? 0) + 1);
    }
    return counts;
  };

  #matching({ target, includeDeleted }: ReportFilter): FakeDataset[] {
    const wanted = target?.toLowerCase();
    return [...this.#catalog.datasets.values()]
      .filter(({ state }) => state !== 'receiving' && (includeDeleted || !isDeleted(state)))
      .filter(
        ({ metadata }) => wanted === undefined || metadata.installTargets.some((id) => id.toLowerCase() === wanted),
      )
      .sort(byCreation);
  }

  async #record({ dataset }: FakeDataset, signal: AbortSignal): Promise<DatasetRecord> {
    const record = await this.#catalog.find(dataset, signal);
    if (!record) throw new Error(`no dataset ${dataset}`);
    return record;
  }
}

const createdMs = ({ metadata }: FakeDataset): number => Date.parse(metadata.created);

function byCreation(a: FakeDataset, b: FakeDataset): number {
  const order = createdMs(a) - createdMs(b);
  return order === 0 ? Buffer.compare(Buffer.from(a.dataset), Buffer.from(b.dataset)) : order;
}

const cut = <Item>(items: readonly Item[], { limit, offset }: ReportPage): readonly Item[] =>
  items.slice(offset, limit === undefined ? undefined : offset + limit);
