// Which objects the quota counts one by one, under which rules, and how its messages name them.

import { type DatasetAddress, datasetPrefix, type ObjectKey, parseKey } from '../../model/object-key.ts';
import type { StoredObject } from '../../ports/object-store.ts';
import type { KeptObject, SettledObject, WantedObject } from '../../ports/storage-room.ts';
import { defect } from '../../runtime/failure.ts';

interface Unsettled {
  readonly at: DatasetAddress;
  readonly objects: readonly SettledObject[];
}

/** What is left to settle of a put (`settleCtes`), from its result; undefined if nothing is. */
export function unsettled(stored: readonly StoredObject[]): Unsettled | undefined {
  const counted: KeptObject[] = [];
  const objects: SettledObject[] = [];
  for (const { key, size, turn } of stored) {
    const object = turn === undefined ? undefined : countedObject(key);
    if (!object || turn === undefined) continue;
    counted.push(object);
    objects.push({ name: object.name, turn, bytes: size });
  }
  const at = sharedDataset(counted);
  return at && { at, objects };
}

/** The dataset of all of them; undefined if there is none. */
export function sharedDataset(objects: readonly KeptObject[]): DatasetAddress | undefined {
  const [first, ...others] = objects;
  const other = first && others.find((object) => datasetPrefix(object) !== datasetPrefix(first));
  if (other) throw defect(`objects of ${datasetPrefix(first)} and ${datasetPrefix(other)} are put together`);
  return first && { owner: first.owner, dataset: first.dataset };
}

export const keyOf = (object: KeptObject): string => datasetPrefix(object) + object.name;

/** Undefined for objects that are not counted here. */
export function countedObject(key: string): KeptObject | undefined {
  const parsed = parseKey(key);
  if (parsed === undefined || parsed === 'foreign' || !isCounted(parsed)) return undefined;
  const { owner, dataset } = parsed;
  return { owner, dataset, name: key.slice(datasetPrefix(parsed).length) };
}

function isCounted(key: ObjectKey): boolean {
  if (key.kind === 'file') return key.folder !== 'raw';
  return key.kind !== 'object' || (key.object !== 'delete-flag' && key.object !== 'revised-flag');
}

/** Documents that revoke rights or explain a failure are counted but never rejected. */
export function rulesOf(name: string): 'counted only' | Pick<WantedObject, 'replacesRaw' | 'onlyNew'> {
  if (name === 'upload-error.json' || name.endsWith('/share-receipt.json')) return 'counted only';
  if (name.endsWith('/share-offer.json')) return { onlyNew: true };
  return name === 'import-ready.zip' ? { replacesRaw: true } : {};
}

const TITLES: Readonly<Record<string, string>> = {
  'vdi-meta.json': 'the metadata have',
  'vdi-manifest.json': 'the list of files has',
  'import-ready.zip': 'the packed upload has',
  'install-ready.zip': 'the import result has',
};

export function titleOf(name: string): string {
  return TITLES[name] ?? `the file '${name.slice(name.lastIndexOf('/') + 1)}' has`;
}

export function namesByDataset(keys: readonly string[]): ReadonlyMap<DatasetAddress, readonly string[]> {
  const byPrefix = new Map<string, { readonly at: DatasetAddress; readonly names: string[] }>();
  for (const key of keys) {
    const object = countedObject(key);
    if (!object) continue;
    const { name, ...at } = object;
    const prefix = datasetPrefix(at);
    const group = byPrefix.get(prefix) ?? { at, names: [] };
    group.names.push(name);
    byPrefix.set(prefix, group);
  }
  return new Map([...byPrefix.values()].map(({ at, names }) => [at, names]));
}
