// How this program starts itself again, for the launchers of the sample plugins.

import { join } from 'node:path';

/** Each start compiles the sources anew unless they are kept: 170 ms against 50 ms. */
export const runtimeArgv = (compiled: string): readonly string[] => [
  '/usr/bin/env',
  `NODE_COMPILE_CACHE=${compiled}`,
  process.execPath,
  join(import.meta.dirname, 'longshore.ts'),
];
