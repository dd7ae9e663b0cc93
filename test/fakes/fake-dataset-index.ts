// What the databases know, page by page, over the fakes of the catalog and of a control schema.

import type { DatasetId, TargetId } from '../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../engine/model/metadata.ts';
import { type DatasetAddress, datasetPrefix } from '../../engine/model/object-key.ts';
import type {
  DatasetIndex,
  IndexedDataset,
  InstalledDataset,
  RetiredDataset,
  RetiredState,
  TargetIndex,
} from '../../engine/ports/dataset-index.ts';
import type { FakeCatalog } from './fake-catalog.ts';
import type { FakeControlSchema } from './fake-install-target.ts';

export class FakeDatasetIndex implements DatasetIndex {
  readonly #catalog: FakeCatalog;

  constructor(catalog: FakeCatalog) {
    this.#catalog = catalog;
  }

  async page(
    after: DatasetAddress | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly IndexedDataset[]> {
    signal.throwIfAborted();
    const rows = [...this.#catalog.datasets.values()]
      .filter(({ state }) => state !== 'receiving')
      .map(
        ({ owner, dataset, state, metadata, upload, import: imported, sync }): IndexedDataset => ({
          owner,
          dataset,
          state,
          type: metadata.type,
          installTargets: targetsOf(metadata),
          upload: upload.status,
          import: imported.status,
          sync,
        }),
      );
    return inStoreOrder(rows, after, limit);
  }

  async retired(
    state: RetiredState,
    after: DatasetId | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly RetiredDataset[]> {
    signal.throwIfAborted();
    return [...this.#catalog.datasets.values()]
      .filter((known) => known.state === state && (after === undefined || byBytes(known.dataset, after) > 0))
      .sort((a, b) => byBytes(a.dataset, b.dataset))
      .slice(0, limit)
      .map(({ owner, dataset, metadata }) => ({
        owner,
        dataset,
        state,
        installTargets: targetsOf(metadata),
      }));
  }

  async beginPruning(dataset: DatasetId, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const known = this.#catalog.datasets.get(dataset);
    if (known?.state !== 'deleted') return false;
    this.#catalog.datasets.set(dataset, { ...known, state: 'pruning' });
    return true;
  }
}

export class FakeTargetIndex implements TargetIndex {
  readonly #id: TargetId;
  readonly #schema: FakeControlSchema;

  constructor(id: TargetId, schema: FakeControlSchema) {
    this.#id = id;
    this.#schema = schema;
  }

  async page(
    after: DatasetAddress | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly InstalledDataset[]> {
    signal.throwIfAborted();
    const rows = [...this.#schema.rows.values()].flatMap(({ targets }): InstalledDataset[] => {
      const install = targets.get(this.#id);
      if (!install) return [];
      const { owner, dataset } = install.document;
      return [{ owner, dataset, control: install.state }];
    });
    return inStoreOrder(rows, after, limit);
  }
}

function inStoreOrder<Row extends DatasetAddress>(
  rows: readonly Row[],
  after: DatasetAddress | undefined,
  limit: number,
): Row[] {
  return rows
    .filter((row) => !after || byBytes(datasetPrefix(row), datasetPrefix(after)) > 0)
    .sort((a, b) => byBytes(datasetPrefix(a), datasetPrefix(b)))
    .slice(0, limit);
}

const targetsOf = (metadata: DatasetMetadata): TargetId[] => [...new Set(metadata.installTargets)].sort();
const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
