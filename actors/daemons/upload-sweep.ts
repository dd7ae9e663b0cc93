// The upload sweep cleans up after uploads whose process crashed before the 202. It removes the objects first, then the row,
// which releases the reserved quota.

import { datasetPrefix } from '../../engine/model/object-key.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type { Uploads } from '../../engine/ports/uploads.ts';
import type { Logger } from '../../engine/runtime/log.ts';

const BATCH = 500;

/** Returns how many uploads were swept. */
export async function sweepUploads(
  ports: { readonly uploads: Uploads; readonly store: ObjectStore },
  log: Logger,
  signal: AbortSignal,
): Promise<number> {
  const orphans = await ports.uploads.orphans(signal);
  for (const at of orphans) {
    let keys: string[] = [];
    for await (const { key } of ports.store.list(datasetPrefix(at), {}, signal)) {
      keys.push(key);
      if (keys.length < BATCH) continue;
      await ports.store.remove(keys, signal);
      keys = [];
    }
    await ports.store.remove(keys, signal);
    await ports.uploads.abandon(at.dataset, signal);
    log.info({ dataset: at.dataset, owner: at.owner }, 'upload of a crashed process removed');
  }
  return orphans.length;
}
