// How this program starts itself as the small process that spawns scripts (engine/adapters/scripts/script-spawner.ts).

import { programArgv } from '../../engine/runtime/program-files.ts';

export const scriptSpawner = (): readonly string[] => [...programArgv(), 'spawn-scripts'];
