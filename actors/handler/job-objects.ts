// Objects that the store keeps for a handler job.

import { handlerPrefix } from '../../engine/model/handler-job.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';

const PAGE = 100;

/** Removes everything that is kept for the job, whatever it is. */
export async function removeJobObjects(
  store: Pick<ObjectStore, 'list' | 'remove'>,
  id: string,
  signal: AbortSignal,
): Promise<void> {
  let keys: string[] = [];
  for await (const { key } of store.list(handlerPrefix(id), {}, signal)) {
    keys.push(key);
    if (keys.length === PAGE) {
      await store.remove(keys, signal);
      keys = [];
    }
  }
  if (keys.length > 0) await store.remove(keys, signal);
}
