// The small process that spawns scripts for a service (engine/adapters/scripts/script-spawner.ts). The service starts it, not
// people. It is a program of its own so that it does not load the code of the others.

import { runSpawner } from '../engine/adapters/scripts/script-spawner-process.ts';

// No top-level await: the single executable stores its compiled code as CommonJS.
void runSpawner();
