// Calls of plugins that this process hosts itself wait here until the host has room for them, instead of being turned away
// by it: the host runs so many scripts at a time, and lanes may have more workers than that. A call that waits takes no
// thread, no connection and no place of the host.

import { Places } from '../../engine/runtime/places.ts';
import type { TaskRunner } from '../tasks/task-map.ts';

/** The same tasks. At most `scripts` of those that call one of the plugins run at a time; owners take turns. */
export function withinHost(tasks: TaskRunner, plugins: readonly string[], scripts: number): TaskRunner {
  const hosted = new Set(plugins);
  const places = new Places(scripts);
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
