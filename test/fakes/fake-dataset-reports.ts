// Installs that are stuck, over the fake of the catalog: what of the reports on datasets is more than read.

import type { InstallRecord } from '../../engine/ports/catalog.ts';
import type { DatasetReports } from '../../engine/ports/dataset-queries.ts';
import type { FakeCatalog, FakeDataset } from './fake-catalog.ts';

export class FakeDatasetReports implements Pick<DatasetReports, 'stuckInstalls'> {
  readonly #catalog: FakeCatalog;

  constructor(catalog: FakeCatalog) {
    this.#catalog = catalog;
  }

  async *stuckInstalls(
    ...[status, signal]: Parameters<DatasetReports['stuckInstalls']>
  ): ReturnType<DatasetReports['stuckInstalls']> {
    signal.throwIfAborted();
    const first = ({ installs }: FakeDataset): InstallRecord | undefined =>
      installs.find((install) => install.status === status);
    const found = [...this.#catalog.datasets.values()]
      .filter((known) => known.state === 'live' && first(known))
      .map((known) => ({ dataset: known.dataset, place: `${first(known)?.target} ${known.dataset}` }))
      .sort((a, b) => (a.place < b.place ? -1 : 1));
    for (const { dataset } of found) {
      const record = await this.#catalog.find(dataset, signal);
      if (record) yield record;
    }
  }
}
