// How this program starts itself: for the launchers of the sample plugins, and as the process that spawns scripts.

import { bundled, programArgv } from '../../engine/runtime/program-files.ts';

/** Without a compile cache each start compiles the sources: 170 ms instead of 50 ms. The executable contains compiled code. */
export const runtimeArgv = (compiled: string): readonly string[] =>
  bundled ? programArgv() : ['/usr/bin/env', `NODE_COMPILE_CACHE=${compiled}`, ...programArgv()];

/** How this program starts itself as the small process that spawns scripts (engine/adapters/scripts/script-spawner.ts). */
export const scriptSpawner = (): readonly string[] => [...programArgv(), 'spawn-scripts'];
