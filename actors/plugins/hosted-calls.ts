// Calls of plugins that this process hosts itself wait here until the host has a free place, instead of being rejected by it.
// The host runs a limited number of scripts at a time, and lanes may have more workers than that. A waiting call holds no
// thread, no connection and no place in the host.

import { Semaphore } from '../../engine/runtime/semaphore.ts';
import type { TaskRunner } from '../tasks/task-map.ts';

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
