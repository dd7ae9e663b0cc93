// Makes paused work wait, by wrappers around what lanes work with. A job that finds its plugin or target paused is put back without
// counting an attempt. It is recorded, so that it is due at once when the pause ends.

import type { LaneSource } from '../../engine/jobs/lane-options.ts';
import { type DataTypes, typeKey } from '../../engine/model/data-types.ts';
import type { LaneName } from '../../engine/model/event.ts';
import type { DatasetId, TargetId } from '../../engine/model/ids.ts';
import type { InstallTarget } from '../../engine/ports/install-target.ts';
import type { Pause, Pauses } from '../../engine/ports/pauses.ts';
import { Failure } from '../../engine/runtime/failure.ts';
import type { BlockedTypes } from '../jobs/job-source.ts';
import type { TaskRunner } from '../tasks/task-map.ts';
import type { PausesInForce } from './pauses-in-force.ts';

/** The work waits for the end of a pause. Code that does not know pauses treats it as an unavailable dependency. */
export class Paused extends Failure {
  constructor({ kind, name, by, since }: Pause) {
    super('transient', `${kind} ${name}: paused by ${by} since ${since.toISOString()}`, { unreachable: true });
    this.name = 'Paused';
  }
}

/** The pauses, as lanes need them. */
export interface WorkPauses {
  readonly inForce: Pick<PausesInForce, 'find' | 'watch'>;
  readonly waits: Pick<Pauses, 'wait'>;
}

/** A source that gives no jobs while `isPaused`. Outcomes are still written. */
export function pausableSource<Job, Outcome>(
  source: LaneSource<Job, Outcome>,
  isPaused: () => boolean,
  watch: PausesInForce['watch'],
): LaneSource<Job, Outcome> {
  let skipped = false;
  return {
    completeAndFetch(done, limit, signal) {
      const paused = isPaused();
      if (limit > 0) skipped = paused;
      return source.completeAndFetch(done, paused ? 0 : limit, signal);
    },
    watch(wake) {
      const stops = [source.watch(wake), watch(wake)];
      return () => {
        for (const stop of stops) stop();
      };
    },
    heldBack: () => source.heldBack?.() ?? false,
    waitsForWorker: () => source.waitsForWorker?.() ?? false,
    skips: () => skipped || (source.skips?.() ?? false),
  };
}

/** `blocked`, and the types of paused plugins. */
export function pausableTypes(
  blocked: BlockedTypes,
  types: DataTypes,
  inForce: Pick<PausesInForce, 'find' | 'watch'>,
): BlockedTypes {
  const paused = (): readonly string[] =>
    types.all().flatMap((type) => (inForce.find('plugin', type.plugin) ? [typeKey(type)] : []));
  return {
    blockedTypes: () => [...new Set([...blocked.blockedTypes(), ...paused()])],
    watch(wake) {
      const stops = [blocked.watch(wake), inForce.watch(wake)];
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}

/** For lanes whose jobs are claimed although a plugin is paused. Tasks that call that plugin fail with {@link Paused}. */
export function pausableTasks(tasks: TaskRunner, lane: LaneName, { inForce, waits }: WorkPauses): TaskRunner {
  return {
    async run(name, input, options) {
      const pause = 'plugin' in input ? inForce.find('plugin', input.plugin) : undefined;
      if (!pause) return tasks.run(name, input, options);
      const { kind, name: plugin } = pause;
      if ('dataset' in input) await waits.wait({ kind, name: plugin, lane, dataset: input.dataset }, options.signal);
      throw new Paused(pause);
    },
  };
}

/** The targets for one lane. A lane's work on a target begins with `state` or `begin`, so only these two check the pauses. */
export function pausableTargets(
  targets: ReadonlyMap<TargetId, InstallTarget>,
  lane: LaneName,
  pauses: WorkPauses,
): ReadonlyMap<TargetId, InstallTarget> {
  return new Map([...targets].map(([id, target]) => [id, pausableTarget(target, lane, pauses)]));
}

function pausableTarget(target: InstallTarget, lane: LaneName, { inForce, waits }: WorkPauses): InstallTarget {
  const demandRunning = async (dataset: DatasetId, signal: AbortSignal): Promise<void> => {
    const pause = inForce.find('target', target.id);
    if (!pause) return;
    await waits.wait({ kind: pause.kind, name: pause.name, lane, dataset }, signal);
    throw new Paused(pause);
  };
  return {
    id: target.id,
    dataSchema: target.dataSchema,
    async state(dataset, signal) {
      await demandRunning(dataset, signal);
      return target.state(dataset, signal);
    },
    async begin(dataset, change, token, signal) {
      await demandRunning(dataset, signal);
      return target.begin(dataset, change, token, signal);
    },
    write: (...call) => target.write(...call),
    removeMessage: (...call) => target.removeMessage(...call),
    writeVisibility: (...call) => target.writeVisibility(...call),
    setDeleted: (...call) => target.setDeleted(...call),
    purge: (...call) => target.purge(...call),
  };
}
