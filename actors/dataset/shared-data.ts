// Targets that share a data schema. Plugins write a dataset's rows there once, under the dataset's id. A second install would
// fail on the rows of the first, and an uninstall would remove them for all targets. So a group of targets installs and
// uninstalls as follows. Each target still has its own files, control rows and status.
//
//   install    another is complete, with this version          copy its files; no script writes rows
//              none is                                         uninstall what others may have left, then install-data
//   uninstall  another is complete, and not yet uninstalled    remove the files, keep the rows
//              none is                                         the plugin's uninstall: the last target removes the rows
//   metadata   always                                          install-meta of each target: it replaces what is there
//
// Only the targets' control databases decide, so losing the cache changes nothing. No further lock is needed. One job at a time
// works on a dataset (its lease), and a job processes the targets of a group one after the other (`onEachGroup`). A target of
// the group that does not answer blocks the others, because it may have the rows. Disabled targets do not count.

import type { DatasetId } from '../../engine/model/ids.ts';
import type { InstallAttempt, ObjectVersion } from '../../engine/ports/catalog.ts';
import type { ControlState, InstallTarget } from '../../engine/ports/install-target.ts';
import { isInstalled, isUninstalled, sameVersion } from './dataset-versions.ts';
import { type InstallTargets, inParallel, TARGETS_AT_ONCE } from './site-targets.ts';

/** Another target of the same group, and its state of the dataset. */
export interface Neighbour {
  readonly target: InstallTarget;
  readonly state: ControlState;
}

/** The neighbors that know the dataset. Fails when one does not answer. */
export async function neighboursOf(
  { id, dataSchema }: InstallTarget,
  targets: InstallTargets,
  dataset: DatasetId,
  signal: AbortSignal,
): Promise<readonly Neighbour[]> {
  const others = [...targets.values()].filter((other) => other.id !== id && other.dataSchema === dataSchema);
  const states = await inParallel(others, TARGETS_AT_ONCE, async (target) => ({
    target,
    state: await target.state(dataset, signal),
  }));
  return states.filter(({ state }) => state.present);
}

/** No other target shares the target's data schema. */
export const hasOwnData = ({ id, dataSchema }: InstallTarget, targets: InstallTargets): boolean =>
  [...targets.values()].every((other) => other.id === id || other.dataSchema !== dataSchema);

/** The neighbor whose install serves all: its rows have this version, and its files may be copied. */
export const holderOf = (neighbours: readonly Neighbour[], version: ObjectVersion): Neighbour | undefined =>
  neighbours.find(({ state }) => isInstalled(state) && sameVersion(state.sync.data, version));

/** True when an uninstall must keep the rows: a neighbor has them installed and removes them with its own uninstall. */
export const areRowsKept = (neighbours: readonly Neighbour[]): boolean =>
  neighbours.some(({ state }) => !isUninstalled(state) && state.messages.data?.status === 'complete');

/** Neighbors that may have left some or all rows, on which an install would fail. */
export function leftovers(neighbours: readonly Neighbour[], attempts: readonly InstallAttempt[]): readonly Neighbour[] {
  return neighbours.filter(
    ({ target, state }) =>
      !isUninstalled(state) &&
      (state.messages.data !== undefined ||
        attempts.some((one) => one.target === target.id && one.kind === 'data' && one.started)),
  );
}

/**
 * Runs `work` on each target: groups concurrently, the targets of a group in their order. Results are in the order of the
 * targets. A failure does not stop the others; the first failure is thrown after all have finished.
 * @param work `alone`: the target is the only one of its group
 * @param then runs on the results of a group once `work` is done on all of its targets. Left out if that failed on one
 */
export async function onEachGroup<Result>(
  targets: readonly InstallTarget[],
  work: (target: InstallTarget, alone: boolean) => Promise<Result>,
  then?: (result: Result) => Promise<void>,
): Promise<readonly Result[]> {
  const results = new Map<InstallTarget, Result>();
  const failures: unknown[] = [];
  const succeeds = async (part: () => Promise<void>): Promise<boolean> => {
    try {
      await part();
      return true;
    } catch (error) {
      failures.push(error);
      return false;
    }
  };
  const groups = [...Map.groupBy(targets, ({ dataSchema }) => dataSchema).values()];
  await inParallel(groups, TARGETS_AT_ONCE, async (group) => {
    let whole = true;
    for (const target of group)
      whole =
        (await succeeds(async () => {
          results.set(target, await work(target, group.length === 1));
        })) && whole;
    if (whole && then) for (const target of group) await succeeds(() => then(results.get(target) as Result));
  });
  if (failures.length > 0) throw failures[0];
  return targets.map((target) => results.get(target) as Result);
}
