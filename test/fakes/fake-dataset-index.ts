// What the databases know, page by page, over the fakes of the catalog and of a control schema.

import type { DatasetId, TargetId } from '../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../engine/model/metadata.ts';
import { type DatasetAddress, datasetPrefix } from '../../engine/model/object-key.ts';
import type { InstallKind } from '../../engine/model/status.ts';
import type { DatasetIndex, IndexedDataset, InstalledDataset, TargetIndex } from '../../engine/ports/catalog.ts';
import type {
  ControlState,
  InstalledMessage,
  InstalledState,
  InstallMessage,
} from '../../engine/ports/install-target.ts';
import type { FakeCatalog, FakeDataset } from './fake-catalog.ts';
import type { FakeControlSchema } from './fake-install-target.ts';
import type { FakeJobRow } from './fake-jobs.ts';

type JobState = Pick<FakeJobRow, 'dataset' | 'state'>;

export class FakeDatasetIndex implements DatasetIndex {
  readonly #catalog: FakeCatalog;
  readonly #jobs: () => readonly JobState[];
  readonly #isLocked: (dataset: DatasetId) => boolean;

  /**
   * @param jobs the job table of the same database
   * @param isLocked an edit has locked the dataset's row
   */
  constructor(catalog: FakeCatalog, jobs: () => readonly JobState[] = () => [], isLocked = (_: DatasetId) => false) {
    this.#catalog = catalog;
    this.#jobs = jobs;
    this.#isLocked = isLocked;
  }

  readonly page = async (...[after, limit, signal]: Parameters<DatasetIndex['page']>) => {
    signal.throwIfAborted();
    const rows = [...this.#catalog.datasets.values()].filter(({ state }) => state !== 'receiving').map(indexed);
    return inStoreOrder(rows, after, limit);
  };

  forgotten: DatasetIndex['forgotten'] = async (after, limit, signal) => {
    signal.throwIfAborted();
    const busy = new Set(this.#jobs().flatMap(({ dataset, state }) => (state === 'dead' ? [] : [dataset])));
    return forgottenOf([...this.#catalog.datasets.values()].map(indexed), busy, after, limit);
  };

  retired: DatasetIndex['retired'] = async (state, after, limit, signal) => {
    signal.throwIfAborted();
    return [...this.#catalog.datasets.values()]
      .filter((known) => known.state === state && (after === undefined || byBytes(known.dataset, after) > 0))
      .sort((a, b) => byBytes(a.dataset, b.dataset))
      .slice(0, limit)
      .map(({ owner, dataset, metadata }) => ({ owner, dataset, state, installTargets: targetsOf(metadata) }));
  };

  beginPruning: DatasetIndex['beginPruning'] = async (datasets, signal) => {
    signal.throwIfAborted();
    const results = new Map<DatasetId, 'begun' | 'locked'>();
    for (const dataset of datasets) {
      const known = this.#catalog.datasets.get(dataset);
      if (known?.state !== 'deleted') continue;
      const isLocked = this.#isLocked(dataset);
      if (!isLocked) this.#catalog.datasets.set(dataset, { ...known, state: 'pruning' });
      results.set(dataset, isLocked ? 'locked' : 'begun');
    }
    return results;
  };
}

export class FakeTargetIndex implements TargetIndex {
  readonly targets: readonly TargetId[];
  readonly #schema: FakeControlSchema;

  constructor(targets: Iterable<TargetId>, schema: FakeControlSchema) {
    this.targets = [...targets];
    this.#schema = schema;
  }

  page: TargetIndex['page'] = async (after, limit, signal) => {
    signal.throwIfAborted();
    const rows = [...this.#schema.rows].flatMap(([dataset, { targets }]): InstalledDataset[] => {
      const ours = [...targets].filter(([id]) => this.targets.includes(id));
      const [first] = ours;
      if (!first) return [];
      const installs = new Map(ours.map(([id, { state }]) => [id, installedState(state)]));
      return [{ owner: first[1].document.owner, dataset, installs }];
    });
    return inStoreOrder(rows, after, limit);
  };
}

/** What an index says of a state. */
export function installedState({ present, deletedStatus, messages, sync }: ControlState): InstalledState {
  const said = Object.entries(messages) as [InstallKind, InstallMessage][];
  const brief = said.map(([kind, { status, updated }]): [InstallKind, InstalledMessage] => [
    kind,
    status === 'missing-dependency' ? { status, updated } : { status },
  ]);
  return { present, deletedStatus, messages: Object.fromEntries(brief), sync };
}

const indexed = ({ metadata, upload, import: imported, ...known }: FakeDataset): IndexedDataset => ({
  ...{ owner: known.owner, dataset: known.dataset, state: known.state, sync: known.sync },
  ...{ upload: upload.status, import: imported.status },
  ...{ type: metadata.type, installTargets: targetsOf(metadata) },
});

/** @param busy datasets that have a job */
export const forgottenOf = (
  rows: readonly IndexedDataset[],
  busy: ReadonlySet<DatasetId>,
  after: DatasetId | undefined,
  limit: number,
): readonly IndexedDataset[] =>
  rows
    .filter(({ state, upload }) => state === 'live' && (upload === 'running' || upload === 'success'))
    .filter((row) => row.import === 'queued' || row.import === 'in-progress')
    .filter(({ dataset }) => !busy.has(dataset) && (after === undefined || byBytes(dataset, after) > 0))
    .sort((a, b) => byBytes(a.dataset, b.dataset))
    .slice(0, limit);

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
