// Tasks that write wait for free disk space: a job whose task cannot begin is retried without using up an attempt. A failure
// while a disk is full is blamed on the disk, whatever a script says of the user's data. It uses up an attempt, since the task
// may have done part of its work.

import type { DiskRoom } from '../../engine/ports/storage-room.ts';
import { Failure, type FailureOptions, kindOf, transient } from '../../engine/runtime/failure.ts';
import { Semaphore } from '../../engine/runtime/semaphore.ts';
import type { LaneTasks, TaskRunner } from '../tasks/task-map.ts';

/** Tasks that free space. */
const WITHOUT_ROOM: ReadonlySet<keyof LaneTasks> = new Set(['uninstall', 'uninstall-files']);
/** Replies of a script that a full disk may have caused. */
const FAILED: ReadonlySet<unknown> = new Set(['invalid', 'script-error', 'server-error']);

export function roomFirst(tasks: TaskRunner, room: DiskRoom): TaskRunner {
  const demandRoom = async (options: FailureOptions): Promise<void> => {
    const lack = await room.lack();
    if (lack !== undefined) throw transient(lack, options);
  };
  return {
    async run(name, input, options) {
      if (WITHOUT_ROOM.has(name)) return tasks.run(name, input, options);
      await demandRoom({ unreachable: true });
      const output = await tasks.run(name, input, options).catch(async (error: unknown) => {
        const unreachable = error instanceof Failure && error.unreachable;
        if (kindOf(error) !== 'aborted') await demandRoom({ cause: error, unreachable });
        throw error;
      });
      if ('kind' in output && FAILED.has(output.kind)) await demandRoom({});
      return output;
    },
  };
}

// Calls of plugins that this process hosts itself wait here until the host has a free place, instead of being rejected by it.
// The host runs a limited number of scripts at a time, and lanes may have more workers than that. A waiting call holds no
// thread, no connection and no place in the host.

/** Wraps `tasks`. At most `scripts` calls of the hosted plugins run at a time; owners take turns. */
export function withinHost(tasks: TaskRunner, plugins: readonly string[], scripts: number): TaskRunner {
  const hosted = new Set(plugins);
  const places = new Semaphore(scripts);
  return {
    async run(name, input, options) {
      if (!('plugin' in input) || !hosted.has(input.plugin)) return tasks.run(name, input, options);
      const leave = await places.take(options.signal, options.owner);
      try {
        return await tasks.run(name, input, options);
      } finally {
        leave();
      }
    },
  };
}
