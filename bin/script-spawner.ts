// How this program is started again as the small process that starts scripts (engine/adapters/script-spawner.ts).

import { programArgv } from '../engine/program-files.ts';

export const scriptSpawner = (): readonly string[] => [...programArgv(), 'spawn-scripts'];
