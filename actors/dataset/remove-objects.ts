// Removes a dataset's objects in constant memory. A crash may interrupt it anywhere: the objects that show that there is
// something to remove are removed last.

import {
  type DatasetAddress,
  type DatasetObject,
  datasetPrefix,
  type ObjectKey,
  parseKey,
} from '../../engine/model/object-key.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';

const BATCH = 500;

/**
 * Removes everything below the dataset's prefix, including unknown keys, except what `keeps` accepts.
 * @param last objects that are removed after all others, in this order
 */
export async function removeObjects(
  store: ObjectStore,
  at: DatasetAddress,
  last: readonly DatasetObject[],
  keeps: (key: ObjectKey) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const later = new Map<DatasetObject, string>();
  let keys: string[] = [];
  for await (const { key } of store.list(datasetPrefix(at), {}, signal)) {
    const parsed = parseKey(key);
    if (typeof parsed === 'object') {
      if (keeps(parsed)) continue;
      if (parsed.kind === 'object' && last.includes(parsed.object)) {
        later.set(parsed.object, key);
        continue;
      }
    }
    keys.push(key);
    if (keys.length < BATCH) continue;
    await store.remove(keys, signal);
    keys = [];
  }
  for (const object of last) keys.push(...[later.get(object)].filter((key) => key !== undefined));
  if (keys.length > 0) await store.remove(keys, signal);
}
