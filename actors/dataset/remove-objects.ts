// Removes objects of the store in constant memory: of a dataset, of a report, of a handler job.

import {
  type DatasetAddress,
  type DatasetObject,
  datasetPrefix,
  type ObjectKey,
  parseKey,
} from '../../engine/model/object-key.ts';
import type { ObjectStore, RemoveOptions } from '../../engine/ports/object-store.ts';

const BATCH = 500;

type Store = Pick<ObjectStore, 'list' | 'remove'>;

/** Removes what is listed below the prefix, as far as it is meant. */
export async function removeListed(
  store: Store,
  prefix: string,
  isMeant: (key: string) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const meant = async function* (): AsyncGenerator<string> {
    for await (const { key } of store.list(prefix, {}, signal)) if (isMeant(key)) yield key;
  };
  await removeAll(store, meant(), signal);
}

interface Removal extends RemoveOptions {
  /** Objects that are removed after all others, in this order. */
  readonly last: readonly DatasetObject[];
  /** What stays; default nothing. */
  readonly keeps?: (key: ObjectKey) => boolean;
}

/**
 * Removes everything below the dataset's prefix, including unknown keys, except what is to stay. A crash may interrupt it
 * anywhere: the objects that show that there is something to remove are removed last.
 */
export async function removeObjects(
  store: Store,
  at: DatasetAddress,
  { last, keeps = () => false, ...options }: Removal,
  signal: AbortSignal,
): Promise<void> {
  const inOrder = async function* (): AsyncGenerator<string> {
    const later = new Map<DatasetObject, string>();
    for await (const { key } of store.list(datasetPrefix(at), {}, signal)) {
      const parsed = parseKey(key);
      if (typeof parsed !== 'object') yield key;
      else if (keeps(parsed)) continue;
      else if (parsed.kind === 'object' && last.includes(parsed.object)) later.set(parsed.object, key);
      else yield key;
    }
    yield* last.flatMap((object) => later.get(object) ?? []);
  };
  await removeAll(store, inOrder(), signal, options);
}

async function removeAll(
  store: Store,
  all: AsyncIterable<string>,
  signal: AbortSignal,
  options?: RemoveOptions,
): Promise<void> {
  let keys: string[] = [];
  for await (const key of all) {
    keys.push(key);
    if (keys.length < BATCH) continue;
    await store.remove(keys, signal, options);
    keys = [];
  }
  if (keys.length > 0) await store.remove(keys, signal, options);
}
