// Datasets as the object store and the databases know them, for tests of what compares the two.

import { combinedVersion, NO_SHARES, sharesVersion, versionOf } from '../../actors/dataset/dataset-versions.ts';
import type { StoredDataset } from '../../actors/dataset/stored-dataset.ts';
import type { DatasetId, TargetId, UserId } from '../../engine/model/ids.ts';
import { type DatasetAddress, type DatasetObject, datasetPrefix } from '../../engine/model/object-key.ts';
import type { IndexedDataset, InstalledDataset, StoreOrdered } from '../../engine/ports/catalog.ts';
import type { ControlState } from '../../engine/ports/install-target.ts';
import type { ObjectInfo } from '../../engine/ports/object-store.ts';
import { PLASMO } from './dataset-samples.ts';

/** Objects of a dataset that is installed. */
export const INSTALLED_OBJECTS = [
  'vdi-meta.json',
  'vdi-manifest.json',
  'import-ready.zip',
  'install-ready.zip',
] as const satisfies readonly DatasetObject[];

export const STORED_AT = new Date(Date.UTC(2025, 0, 1));

export const addressOf = (owner: number | string, dataset: string): DatasetAddress => ({
  owner: String(owner) as UserId,
  dataset: dataset as DatasetId,
});

export const infoOf = (at: DatasetAddress, path: string, modified = STORED_AT): ObjectInfo => ({
  key: datasetPrefix(at) + path,
  size: 1,
  etag: `etag of ${path}`,
  modified,
});

export function storedOf(
  at: DatasetAddress,
  objects: readonly DatasetObject[] = INSTALLED_OBJECTS,
  more: Partial<StoredDataset> = {},
): StoredDataset {
  return {
    ...at,
    objects: Object.fromEntries(objects.map((object) => [object, infoOf(at, object)])),
    properties: [],
    documents: [],
    raw: [],
    shares: [],
    unknown: 0,
    ...more,
  };
}

/** In step with `storedOf(at)`. */
export function indexedOf(at: DatasetAddress, more: Partial<IndexedDataset> = {}): IndexedDataset {
  return {
    ...at,
    state: 'live',
    type: { name: 'genelist', version: '1.0' },
    installTargets: [PLASMO],
    upload: 'success',
    import: 'complete',
    sync: { meta: versionOf(infoOf(at, 'vdi-meta.json')), data: versionOf(infoOf(at, 'install-ready.zip')) },
    ...more,
  };
}

/** Installed from `storedOf(at)`, with properties and shares as given. */
export function controlOf(
  at: DatasetAddress,
  more: Partial<ControlState> = {},
  { properties, shares }: Pick<StoredDataset, 'properties' | 'shares'> = { properties: [], shares: [] },
): ControlState {
  const complete = { status: 'complete', message: undefined, updated: STORED_AT } as const;
  return {
    present: true,
    type: { name: 'genelist', version: '1.0' },
    deletedStatus: 0,
    messages: { meta: complete, data: complete },
    sync: {
      meta: combinedVersion(versionOf(infoOf(at, 'vdi-meta.json')), properties),
      data: versionOf(infoOf(at, 'install-ready.zip')),
      shares: shares.length === 0 ? NO_SHARES : sharesVersion(shares),
    },
    ...more,
  };
}

/** In the same state on each of the targets. */
export const installedOn = (
  targets: readonly TargetId[],
  at: DatasetAddress,
  control: Partial<ControlState> = {},
): InstalledDataset => ({ ...at, installs: new Map(targets.map((id) => [id, controlOf(at, control)])) });

/** Pages over rows that are at hand, in the order given. */
export function indexOf<Row extends DatasetAddress>(rows: readonly Row[]): StoreOrdered<Row> {
  return {
    page: async (after, limit, signal) => {
      signal.throwIfAborted();
      const known = rows.findIndex((row) => after && datasetPrefix(row) === datasetPrefix(after));
      const before = after ? rows.findLastIndex((row) => datasetPrefix(row) < datasetPrefix(after)) : -1;
      const from = (known < 0 ? before : known) + 1;
      return rows.slice(from, from + limit);
    },
  };
}
