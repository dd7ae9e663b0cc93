// The install targets of a dataset that a lane works on, and helpers that install and update-meta share.

import type { DataType, DataTypes } from '../../engine/model/data-types.ts';
import type { TargetId } from '../../engine/model/ids.ts';
import { type DatasetAddress, datasetPrefix } from '../../engine/model/object-key.ts';
import { INSTALL_KINDS } from '../../engine/model/status.ts';
import type { Catalog, CatalogChange, DatasetRecord, InstallAttempt } from '../../engine/ports/catalog.ts';
import type { ControlState, InstallTarget } from '../../engine/ports/install-target.ts';
import type { ClaimedJob, JobRequest, Jobs } from '../../engine/ports/jobs.ts';
import type { ObjectInfo, ObjectStore } from '../../engine/ports/object-store.ts';
import { NO_SHARES, sharesInSync } from './dataset-versions.ts';

/** Enabled targets by id. */
export type InstallTargets = ReadonlyMap<TargetId, InstallTarget>;

/** How many targets of one dataset are processed at once. */
export const TARGETS_AT_ONCE = 4;

export function targetsOf(
  record: DatasetRecord,
  type: DataType,
  types: DataTypes,
  targets: InstallTargets,
): readonly InstallTarget[] {
  return record.metadata.installTargets.flatMap((id) => {
    const target = targets.get(id);
    return target && types.appliesTo(type, id) ? [target] : [];
  });
}

/** The dataset's property files, in key order. The limits of an upload bound their number. */
export async function propertyFiles(
  store: ObjectStore,
  at: DatasetAddress,
  signal: AbortSignal,
): Promise<readonly ObjectInfo[]> {
  const found: ObjectInfo[] = [];
  for await (const info of store.list(`${datasetPrefix(at)}datasetProperties/`, {}, signal)) found.push(info);
  return found;
}

/** The last segment of an object's key. */
export const fileName = (key: string): string => key.slice(key.lastIndexOf('/') + 1);

/**
 * Updates the mirror of one target from its control DB. They differ after a crash between the two writes.
 * @param over attempts of steps that turned out not to be due: a crash may have prevented their removal at the step's end
 */
export async function mirror(
  catalog: Catalog,
  job: ClaimedJob,
  record: DatasetRecord,
  target: TargetId,
  state: ControlState,
  over: readonly Pick<InstallAttempt, 'target' | 'kind'>[],
  signal: AbortSignal,
): Promise<void> {
  const changes: CatalogChange[] = over.map(({ target, kind }) => ({ set: 'attemptOver', target, kind }));
  for (const kind of INSTALL_KINDS) {
    const truth = state.messages[kind];
    const copy = record.installs.find((install) => install.target === target && install.kind === kind);
    if (!truth || copy?.status === truth.status) continue;
    const messages = linesOf(truth.message === undefined ? [] : [truth.message]);
    changes.push({ set: 'install', target, kind, status: truth.status, messages });
  }
  if (changes.length > 0) await catalog.write(job.dataset, job.lease, changes, signal);
}

/** Splits messages into lines: the control DB keeps one text, its mirror an array of lines. */
export const linesOf = (messages: readonly string[]): readonly string[] =>
  messages.flatMap((message) => message.split('\n'));

/** Deletes the attempts of a step that is not due any more. */
export async function dropAttempt(
  catalog: Catalog,
  job: ClaimedJob,
  attempt: InstallAttempt | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (!attempt) return;
  const { target, kind } = attempt;
  await catalog.write(job.dataset, job.lease, [{ set: 'attemptOver', target, kind }], signal);
}

/**
 * Enqueues a sharing job if the target's rows do not reflect the shares that the cache knows. The rows may not exist yet, or
 * the target may have been unavailable when the shares changed. The sharing job waits until the current job ends.
 */
export async function requestSharing(
  jobs: Jobs,
  job: ClaimedJob,
  record: DatasetRecord,
  state: ControlState,
  source: JobRequest['source'],
  signal: AbortSignal,
): Promise<void> {
  if (sharesInSync(state.sync.shares, record.sync.shares ?? NO_SHARES)) return;
  const { owner, dataset, eventId } = job;
  await jobs.enqueue([{ lane: 'sharing', owner, dataset, eventId, source }], signal);
}

/** Runs `work` on the items, at most `limit` at once. The first failure is thrown after all have finished. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  limit: number,
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const failures: unknown[] = [];
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) {
      try {
        results[index] = await work(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
  return results;
}
