// Uninstalls a dataset from one install target. The `deletedStatus` of the target's control row decides:
//   no row, or 1        done: nothing of it is installed
//   row, nothing begun  -> 1
//   otherwise           -> 2 (hidden from the site) --plugin's uninstall--> 1
// If another target that shares the data schema has the dataset, only its files are removed (shared-data.ts). After a crash
// anywhere the row shows what is left to do; the uninstall is idempotent.

import { type DataTypes, typeKey } from '../../engine/model/data-types.ts';
import type { DatasetType } from '../../engine/model/metadata.ts';
import type { Catalog, DatasetRecord, InstallAttempt } from '../../engine/ports/catalog.ts';
import type { ControlState, InstallTarget } from '../../engine/ports/install-target.ts';
import type { ClaimedJob } from '../../engine/ports/jobs.ts';
import { Failure, kindOf, rejected } from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { ownerText } from '../../engine/runtime/owner-text.ts';
import { isUninstalled } from '../dataset/dataset-versions.ts';
import { areRowsKept, neighboursOf, onEachGroup } from '../dataset/shared-data.ts';
import { dropAttempt, type InstallTargets, linesOf } from '../dataset/site-targets.ts';
import { pluginServerError } from '../plugins/plugin-breakers.ts';
import type { TaskRunner } from '../tasks/task-map.ts';

interface UninstallPorts {
  readonly catalog: Catalog;
  readonly tasks: TaskRunner;
  readonly targets: InstallTargets;
  readonly log: Logger;
}

/** What all targets of one attempt share. */
interface Removal {
  readonly job: ClaimedJob;
  /** Undefined for a dataset that only the targets know. */
  readonly record: Pick<DatasetRecord, 'installs'> | undefined;
  readonly attempts: readonly InstallAttempt[];
  readonly types: DataTypes;
}

/**
 * Resolves when nothing of the dataset is installed on the target and no install attempt is left. Returns whether the target
 * has a row of it. A type without a plugin and a script that fails are `rejected`: both need a person, who finds the reason in
 * the target's message.
 */
export async function uninstallFrom(
  target: InstallTarget,
  removal: Removal,
  ports: UninstallPorts,
  signal: AbortSignal,
): Promise<boolean> {
  const { job } = removal;
  const state = await target.state(job.dataset, signal);
  const attempts = removal.attempts.filter((attempt) => attempt.target === target.id);
  if (!isUninstalled(state)) {
    const { token } = job.lease;
    const begun = state.messages.data !== undefined || attempts.some(({ kind, started }) => kind === 'data' && started);
    if (begun) {
      if (state.deletedStatus !== 2) await target.setDeleted(job.dataset, 2, token, signal);
      await callPlugin(target, state, removal, ports, signal);
    }
    await target.setDeleted(job.dataset, 1, token, signal);
  }
  for (const attempt of attempts) await dropAttempt(ports.catalog, job, attempt, signal);
  return state.present;
}

/** Runs `work` on every target, even if others fail. Throws the failure that leaves the job the best chance of a retry. */
export async function onEachTarget(
  targets: readonly InstallTarget[],
  work: (target: InstallTarget) => Promise<unknown>,
): Promise<void> {
  const failures: unknown[] = [];
  await onEachGroup(targets, async (target) => {
    try {
      await work(target);
    } catch (error) {
      failures.push(error);
    }
  });
  if (failures.length > 0) throw mostRetryable(failures);
}

async function callPlugin(
  target: InstallTarget,
  state: ControlState,
  removal: Removal,
  ports: UninstallPorts,
  signal: AbortSignal,
): Promise<void> {
  const { job, types } = removal;
  const { dataset, eventId, traceparent } = job;
  try {
    const plugin = state.type && types.find(state.type)?.plugin;
    if (!state.type || !plugin) throw noPlugin(state.type, target);
    const call = { plugin, eventId, dataset, traceparent, target: target.id, type: state.type };
    // Checked only now: from here on this target does not count for its neighbors.
    const kept = areRowsKept(await neighboursOf(target, ports.targets, dataset, signal));
    const reply = await ports.tasks.run(kept ? 'uninstall-files' : 'uninstall', call, {
      signal,
      alone: job.alone,
      owner: job.owner,
    });
    if (reply.kind === 'server-error') throw pluginServerError(plugin, reply.message);
    if (reply.kind === 'script-error')
      throw rejected(`uninstall from ${target.id}, plugin ${plugin}: ${reply.message}`, {
        script: { exitCode: reply.exitCode, output: reply.output },
      });
  } catch (error) {
    if (kindOf(error) === 'rejected') await tell(target, state, removal, ownerText(error), ports, signal);
    throw error;
  }
}

const noPlugin = (type: DatasetType | undefined, target: InstallTarget): Failure =>
  rejected(`uninstall from ${target.id}: no plugin is configured for data type ${type ? typeKey(type) : 'unknown'}`);

/** Writes the reason as the message of the data's status, which stays. If this fails, the job's outcome is the same. */
async function tell(
  target: InstallTarget,
  state: ControlState,
  { job, record }: Removal,
  reason: string,
  { catalog, log }: UninstallPorts,
  signal: AbortSignal,
): Promise<void> {
  const { dataset, lease } = job;
  try {
    const status = state.messages.data?.status;
    if (status) await target.write(dataset, { messages: { data: { status, message: reason } } }, lease.token, signal);
    const copy = record?.installs.find((install) => install.target === target.id && install.kind === 'data');
    if (!copy) return;
    await catalog.write(dataset, lease, [{ set: 'install', ...copy, messages: linesOf([reason]) }], signal);
  } catch (error) {
    if (kindOf(error) === 'aborted' || signal.aborted) throw error;
    log.warn({ dataset, target: target.id, err: error }, 'the reason for a failed uninstall could not be stored');
  }
}

/**
 * Of several targets' failures, the one most likely to pass by itself. So one target's permanent failure does not end the job
 * for another.
 */
export const mostRetryable = (failures: readonly unknown[]): unknown =>
  failures.toSorted((a, b) => hopelessness(a) - hopelessness(b))[0];

function hopelessness(error: unknown): number {
  const kind = kindOf(error);
  if (kind === 'transient' && error instanceof Failure && error.unreachable) return 1;
  return { aborted: 0, transient: 2, defect: 3, rejected: 4 }[kind];
}
