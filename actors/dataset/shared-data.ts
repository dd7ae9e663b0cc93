// Targets that share a data schema. Plugins write one dataset's rows there once, under the dataset's id: a second install
// would fail on the rows of the first, and an uninstall would take them from all. So the group of targets is installed to
// and taken away from as follows; each target has files, control rows and a status of its own all the same.
//
//   install    another one is complete, with this version      the files are copied from it, no script writes rows
//              none is                                         what others may have left is uninstalled, then install-data
//   uninstall  another one is complete, and not yet taken away  the files go, the rows stay
//              none is                                         the plugin's uninstall: the last one takes the rows along
//   metadata   always                                          install-meta of each target: it replaces what is there
//
// Nothing but the targets' control databases decides, so a lost cache changes nothing. One job at a time works on a dataset
// (its lease), and a job works on the targets of a group one after the other (`onEachGroup`): that is the claim. A target
// of the group that does not answer holds up the others, for it may have the rows. Disabled targets do not count.

import type { DatasetId } from '../../engine/model/ids.ts';
import type { InstallAttempt, ObjectVersion } from '../../engine/ports/catalog.ts';
import type { ControlState, InstallTarget } from '../../engine/ports/install-target.ts';
import { sameVersion } from './dataset-versions.ts';
import { isInstalled, isUninstalled } from './site-state.ts';
import { type InstallTargets, inParallel, TARGETS_AT_ONCE } from './site-targets.ts';

/** Another target of the same group, and what it says of the dataset. */
export interface Neighbour {
  readonly target: InstallTarget;
  readonly state: ControlState;
}

/** The neighbours that have heard of the dataset. Fails when one does not answer. */
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

/** Whose rows, of this version, lie there for all, and whose files may be copied. */
export const holderOf = (neighbours: readonly Neighbour[], version: ObjectVersion): Neighbour | undefined =>
  neighbours.find(({ state }) => isInstalled(state) && sameVersion(state.sync.data, version));

/** The rows stay: a neighbour has them, and is to take them along itself when it goes. */
export const areRowsKept = (neighbours: readonly Neighbour[]): boolean =>
  neighbours.some(({ state }) => !isUninstalled(state) && state.messages.data?.status === 'complete');

/** Neighbours that may have left rows, all or some, which an install would fail on. */
export function leftovers(neighbours: readonly Neighbour[], attempts: readonly InstallAttempt[]): readonly Neighbour[] {
  return neighbours.filter(
    ({ target, state }) =>
      !isUninstalled(state) &&
      (state.messages.data !== undefined ||
        attempts.some((one) => one.target === target.id && one.kind === 'data' && one.started)),
  );
}

/**
 * Runs `work` over the targets, groups beside each other and those of a group in their order; the results are in the
 * order of the targets. However one ends, the others are worked on; the first failure is thrown after all have ended.
 */
export async function onEachGroup<Result>(
  targets: readonly InstallTarget[],
  work: (target: InstallTarget) => Promise<Result>,
): Promise<readonly Result[]> {
  const results = new Map<InstallTarget, Result>();
  const failures: unknown[] = [];
  const groups = [...Map.groupBy(targets, ({ dataSchema }) => dataSchema).values()];
  await inParallel(groups, TARGETS_AT_ONCE, async (group) => {
    for (const target of group) {
      try {
        results.set(target, await work(target));
      } catch (error) {
        failures.push(error);
      }
    }
  });
  if (failures.length > 0) throw failures[0];
  return targets.map((target) => results.get(target) as Result);
}
