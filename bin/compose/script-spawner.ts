// How this program is started again as the small process that starts scripts (engine/adapters/scripts/script-spawner.ts).

import { programArgv } from '../../engine/runtime/program-files.ts';

export const scriptSpawner = (): readonly string[] => [...programArgv(), 'spawn-scripts'];
