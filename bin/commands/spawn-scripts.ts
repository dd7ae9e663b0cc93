// `longshore spawn-scripts`: the small process that spawns scripts for a service. The service starts it, not people.

import { runSpawner } from '../../engine/adapters/scripts/script-spawner-process.ts';
import { EXIT, type InternalCommand } from '../cli/command.ts';

export const spawnScripts: InternalCommand = {
  async run() {
    await runSpawner();
    return EXIT.ok;
  },
};
