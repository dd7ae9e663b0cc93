// `longshore spawn-scripts`: the small process that spawns scripts for a service. The service starts it, not people.

import { runSpawner } from '../../engine/adapters/scripts/script-spawner-process.ts';
import { type Command, EXIT } from '../cli/command.ts';

export const spawnScripts: Command = {
  name: 'spawn-scripts',
  usage: 'longshore spawn-scripts',
  options: {},
  async run() {
    await runSpawner();
    return EXIT.ok;
  },
};
