// What the object store holds of one dataset, told from the listing of its keys: which objects there are, in which
// version. Grouping a listing of the whole bucket holds one dataset at a time.

import { type DatasetAddress, type DatasetObject, datasetPrefix, parseKey } from '../../engine/model/object-key.ts';
import type { ObjectInfo, ObjectStore } from '../../engine/ports/object-store.ts';

export interface StoredDataset extends DatasetAddress {
  readonly objects: Readonly<Partial<Record<DatasetObject, ObjectInfo>>>;
  /** Each in key order. */
  readonly properties: readonly ObjectInfo[];
  readonly documents: readonly ObjectInfo[];
  readonly raw: readonly ObjectInfo[];
  readonly shares: readonly ObjectInfo[];
  /** Keys below the dataset that are none of ours: the dataset exists all the same. */
  readonly unknown: number;
}

/** Undefined when no object lies below the dataset's prefix. */
export async function storedDataset(
  store: ObjectStore,
  at: DatasetAddress,
  signal: AbortSignal,
): Promise<StoredDataset | undefined> {
  for await (const group of storedDatasets(store.list(datasetPrefix(at), {}, signal))) return group;
  return undefined;
}

/**
 * Groups a listing by dataset, in the listing's order.
 * @param onStray hears of keys that are below no dataset and belong to no other service
 */
export async function* storedDatasets(
  listing: AsyncIterable<ObjectInfo>,
  onStray: (key: string) => void = () => {},
): AsyncGenerator<StoredDataset, void, undefined> {
  let group: Gathering | undefined;
  for await (const info of listing) {
    const key = parseKey(info.key);
    if (key === 'foreign') continue;
    if (key === undefined) {
      onStray(info.key);
      continue;
    }
    if (group && (group.owner !== key.owner || group.dataset !== key.dataset)) {
      yield group;
      group = undefined;
    }
    group ??= gathering(key);
    add(group, key, info);
  }
  if (group) yield group;
}

/** Everything of the dataset that we know what it is. */
export const objectsOf = ({ objects, properties, documents, raw, shares }: StoredDataset): readonly ObjectInfo[] => [
  ...Object.values(objects),
  ...properties,
  ...documents,
  ...raw,
  ...shares,
];

interface Gathering extends DatasetAddress {
  readonly objects: Partial<Record<DatasetObject, ObjectInfo>>;
  readonly properties: ObjectInfo[];
  readonly documents: ObjectInfo[];
  readonly raw: ObjectInfo[];
  readonly shares: ObjectInfo[];
  unknown: number;
}

const gathering = ({ owner, dataset }: DatasetAddress): Gathering => ({
  owner,
  dataset,
  objects: {},
  properties: [],
  documents: [],
  raw: [],
  shares: [],
  unknown: 0,
});

const FOLDERS = { raw: 'raw', documents: 'documents', datasetProperties: 'properties' } as const;

function add(
  group: Gathering,
  key: Exclude<ReturnType<typeof parseKey>, 'foreign' | undefined>,
  info: ObjectInfo,
): void {
  switch (key.kind) {
    case 'object':
      group.objects[key.object] = info;
      return;
    case 'file':
      group[FOLDERS[key.folder]].push(info);
      return;
    case 'share':
      group.shares.push(info);
      return;
    case 'unknown':
      group.unknown++;
      return;
    default:
      throw key satisfies never;
  }
}
