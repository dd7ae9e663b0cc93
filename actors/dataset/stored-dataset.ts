// What the object store holds of one dataset, derived from a listing of its keys: which objects exist, in which version.
// Grouping a listing of the whole bucket keeps one dataset in memory at a time.

import type { DatasetId } from '../../engine/model/ids.ts';
import type { FileEntry } from '../../engine/model/metadata.ts';
import {
  type DatasetAddress,
  type DatasetObject,
  datasetPrefix,
  type ObjectKey,
  objectKey,
  parseKey,
  parseKeyBelow,
} from '../../engine/model/object-key.ts';
import { olderRevisions } from '../../engine/model/older-revisions.ts';
import type { DatasetRecord } from '../../engine/ports/catalog.ts';
import type { ObjectInfo, ObjectStore } from '../../engine/ports/object-store.ts';

export interface StoredDataset extends DatasetAddress {
  readonly objects: Readonly<Partial<Record<DatasetObject, ObjectInfo>>>;
  /** Each in key order. */
  readonly properties: readonly ObjectInfo[];
  readonly documents: readonly ObjectInfo[];
  readonly raw: readonly ObjectInfo[];
  readonly shares: readonly ObjectInfo[];
  /** Number of unknown keys below the dataset's prefix. They too mean that the dataset exists. */
  readonly unknown: number;
}

/** Undefined when there is no object below the dataset's prefix. */
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
 * @param onStray called with keys that are below no dataset and belong to no other service
 */
export async function* storedDatasets(
  listing: AsyncIterable<ObjectInfo>,
  onStray?: OnStray,
): AsyncGenerator<StoredDataset, void, undefined> {
  const grouping = new DatasetGrouping(onStray);
  for await (const info of listing) {
    const ended = grouping.add(info);
    if (ended) yield ended;
  }
  if (grouping.open) yield grouping.open;
}

type OnStray = (key: string) => void;

/** Groups objects that arrive in key order. */
export class DatasetGrouping {
  readonly #onStray: OnStray;
  #group: Gathering | undefined;
  #prefix = '';

  constructor(onStray: OnStray = () => {}) {
    this.#onStray = onStray;
  }

  /** The dataset that is complete because this object belongs to the next one, if any. */
  add(info: ObjectInfo): StoredDataset | undefined {
    if (this.#group && info.key.startsWith(this.#prefix)) {
      add(this.#group, parseKeyBelow(this.#group, info.key), info);
      return undefined;
    }
    const key = parseKey(info.key);
    if (key === undefined) this.#onStray(info.key);
    if (key === undefined || key === 'foreign') return undefined;
    const ended = this.#group;
    this.#group = gathering(key);
    this.#prefix = datasetPrefix(key);
    add(this.#group, key, info);
    return ended;
  }

  /** The dataset in progress, with the objects seen so far. */
  get open(): StoredDataset | undefined {
    return this.#group;
  }
}

/** Every object of the dataset whose kind is known. */
export const objectsOf = ({ objects, properties, documents, raw, shares }: StoredDataset): readonly ObjectInfo[] => [
  ...Object.values(objects),
  ...properties,
  ...documents,
  ...raw,
  ...shares,
];

/** What counts against the owner's quota besides the files under raw/. Undefined if the dataset has unknown keys. */
export function keptObjects(stored: StoredDataset): readonly FileEntry[] | undefined {
  if (stored.unknown > 0) return undefined;
  const { 'delete-flag': _deleted, 'revised-flag': _revised, ...objects } = stored.objects;
  const prefix = datasetPrefix(stored);
  return objectsOf({ ...stored, objects, raw: [] }).map(({ key, size }) => ({ name: key.slice(prefix.length), size }));
}

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

function add(group: Gathering, key: ObjectKey, info: ObjectInfo): void {
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

// The earlier revisions of a dataset, and the flags that the dataset's changes put on them. Each revision is a dataset with its
// own objects and its own lease. So one revision only flags another; the flag's event triggers the rest.

export type RevisionFlag = Extract<DatasetObject, 'delete-flag' | 'revised-flag'>;

/**
 * Puts the (empty) flag on every older revision that has metadata and does not have the flag, newest first. Returns the
 * revisions that were flagged. Idempotent.
 */
export async function flagOlder(
  store: ObjectStore,
  record: Pick<DatasetRecord, 'owner' | 'dataset' | 'metadata'>,
  flag: RevisionFlag,
  signal: AbortSignal,
): Promise<readonly DatasetId[]> {
  const flagged: DatasetId[] = [];
  for (const dataset of olderRevisions(record.metadata, record.dataset)) {
    const at = { owner: record.owner, dataset };
    const key = objectKey(at, flag);
    if (await store.head(key, signal)) continue;
    if (!(await store.head(objectKey(at, 'vdi-meta.json'), signal))) continue;
    await store.put(key, new Uint8Array(), {}, signal);
    flagged.push(dataset);
  }
  return flagged;
}
