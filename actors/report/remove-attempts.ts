// Removes objects of reports that are no longer needed.

import { attemptOf, reportPrefix } from '../../engine/model/report/report-job.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type { ReportDebris } from '../../engine/ports/report-jobs.ts';

const PAGE = 100;

type Store = Pick<ObjectStore, 'list' | 'remove'>;

export async function removeObjects(
  store: Store,
  prefix: string,
  isMeant: (key: string) => boolean,
  signal: AbortSignal,
): Promise<void> {
  let keys: string[] = [];
  for await (const { key } of store.list(prefix, {}, signal)) {
    if (isMeant(key)) keys.push(key);
    if (keys.length < PAGE) continue;
    await store.remove(keys, signal);
    keys = [];
  }
  if (keys.length > 0) await store.remove(keys, signal);
}

/** Removes the objects of all attempts up to `upTo`, and objects that belong to no attempt. */
export const removeAttempts = (store: Store, { id, upTo }: ReportDebris, signal: AbortSignal): Promise<void> =>
  removeObjects(store, reportPrefix(id), (key) => (attemptOf(id, key) ?? 0) <= upTo, signal);
