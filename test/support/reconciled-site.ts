// An object store, a cache and two install targets that know datasets, and a reconciler over them whose jobs are kept.

import { versionOf } from '../../actors/dataset/dataset-versions.ts';
import { storedDataset } from '../../actors/dataset/stored-dataset.ts';
import { Reconciler, type ReconcilerOrder, type ReconcilerPorts } from '../../actors/reconciler/reconciler.ts';
import type { DatasetId, TargetId } from '../../engine/model/ids.ts';
import { serializeMetadata } from '../../engine/model/metadata.ts';
import { type DatasetAddress, type DatasetObject, datasetPrefix, objectKey } from '../../engine/model/object-key.ts';
import type { IndexedDataset, InstalledDataset, TargetIndex } from '../../engine/ports/catalog.ts';
import type { ControlState } from '../../engine/ports/install-target.ts';
import type { JobRequest } from '../../engine/ports/jobs.ts';
import type { ReconcilerReport } from '../../engine/ports/process-control.ts';
import { silentLogger } from '../../engine/runtime/log.ts';
import { Metrics } from '../../engine/runtime/metrics.ts';
import { forgottenOf } from '../fakes/fake-dataset-index.ts';
import { FakeObjectStore } from '../fakes/fake-object-store.ts';
import { FakeSlimPasses } from '../fakes/fake-slim-passes.ts';
import { VirtualClock } from '../fakes/virtual-clock.ts';
import { metadataOf, PLASMO, TOXO } from './dataset-samples.ts';
import { TYPES } from './lane-settings.ts';
import { addressOf, INSTALLED_OBJECTS, indexedOf, indexOf, installedOn } from './merged-datasets.ts';

const never = new AbortController().signal;
const FULL: ReconcilerOrder = { kind: 'full', performDeletes: true, allowDeletes: false };
/** A day: what was stored at first has long arrived. */
const LATER_MS = 86_400_000;

export type Database = 'cache' | TargetId;

export class ReconciledSite {
  readonly clock = new VirtualClock();
  readonly store = new FakeObjectStore(() => this.clock.now() - LATER_MS);
  readonly metrics = new Metrics();
  readonly jobs: JobRequest[] = [];
  /** Sizes of the batches in which they came. */
  readonly batches: number[] = [];
  /** In the order of keys. */
  readonly cache: IndexedDataset[] = [];
  readonly targets = new Map<TargetId, InstalledDataset[]>([
    [PLASMO, []],
    [TOXO, []],
  ]);
  /** Each target has a control schema of its own. */
  readonly targetIndexes: TargetIndex[] = [...this.targets].map(([id, rows]) => ({ targets: [id], ...indexOf(rows) }));
  /** Datasets that the cache says have a job. */
  readonly busy = new Set<DatasetId>();
  readonly slimPasses = new FakeSlimPasses();
  #events = 0;

  readonly ports = {
    store: this.store,
    index: {
      ...indexOf(this.cache),
      forgotten: async (after, limit) => forgottenOf(this.cache, this.busy, after, limit),
    },
    slimPasses: this.slimPasses,
    targetIndexes: this.targetIndexes,
    jobs: {
      enqueue: async (requests) => {
        this.batches.push(requests.length);
        this.jobs.push(...requests);
      },
    },
    events: { nextEventId: async () => ++this.#events },
    types: TYPES,
    clock: this.clock,
    log: silentLogger(),
    metrics: this.metrics,
  } satisfies ReconcilerPorts;
  readonly reconciler = new Reconciler(this.ports);

  /** Makes the index of a target misbehave. */
  replacePage(target: TargetId, replaced: (page: TargetIndex['page']) => TargetIndex['page']): void {
    const place = this.targetIndexes.findIndex(({ targets }) => targets.includes(target));
    const { targets, page } = this.targetIndexes[place] as TargetIndex;
    this.targetIndexes[place] = { targets, page: replaced(page) };
  }

  run(order: Partial<ReconcilerOrder> = {}): Promise<ReconcilerReport> {
    return this.reconciler.runOnce({ ...FULL, ...order }, never);
  }

  async put(at: DatasetAddress, objects: readonly DatasetObject[] = INSTALLED_OBJECTS): Promise<void> {
    const metadata = serializeMetadata(metadataOf(at.owner));
    for (const object of objects)
      await this.store.put(objectKey(at, object), Buffer.from(object === 'vdi-meta.json' ? metadata : ''), {}, never);
  }

  /** Makes the database say what the store does now; `more` is where it differs. */
  async know(
    at: DatasetAddress,
    database: Database,
    more: Partial<IndexedDataset> & Partial<ControlState> = {},
  ): Promise<void> {
    const stored = await storedDataset(this.store, at, never);
    const { 'vdi-meta.json': meta, 'install-ready.zip': data } = stored?.objects ?? {};
    const sync = { ...(meta ? { meta: versionOf(meta) } : {}), ...(data ? { data: versionOf(data) } : {}) };
    const rows: (IndexedDataset | InstalledDataset)[] =
      database === 'cache' ? this.cache : (this.targets.get(database) ?? []);
    const place = rows.findLastIndex((row) => datasetPrefix(row) < datasetPrefix(at)) + 1;
    const isKnown = rows[place] !== undefined && datasetPrefix(rows[place]) === datasetPrefix(at);
    const row =
      database === 'cache' ? indexedOf(at, { sync, ...more }) : installedOn([database], at, { sync, ...more });
    rows.splice(place, isKnown ? 1 : 0, row);
  }

  /** The store and the databases lose it. */
  async forget(at: DatasetAddress): Promise<void> {
    const keys = this.store.keys().filter((key) => key.startsWith(datasetPrefix(at)));
    await this.store.remove(keys, never);
    for (const rows of [this.cache, ...this.targets.values()]) {
      const place = rows.findIndex((row) => datasetPrefix(row) === datasetPrefix(at));
      if (place >= 0) rows.splice(place, 1);
    }
  }

  /** A dataset that is in step everywhere. */
  async add(owner: number, id: string, databases: readonly Database[] = ['cache', PLASMO]): Promise<DatasetAddress> {
    const at = addressOf(owner, id);
    await this.put(at);
    for (const database of databases) await this.know(at, database);
    return at;
  }

  /** A dataset that only databases know. */
  async addAbsent(
    owner: number,
    id: string,
    databases: readonly Database[] = ['cache', PLASMO],
  ): Promise<DatasetAddress> {
    const at = addressOf(owner, id);
    for (const database of databases) await this.know(at, database);
    return at;
  }

  /** `lane owner/dataset`, in the order in which they came. */
  get asked(): string[] {
    return this.jobs.map(({ lane, owner, dataset }) => `${lane} ${owner}/${dataset}`);
  }
}
