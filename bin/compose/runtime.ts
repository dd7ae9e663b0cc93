// How this program starts itself again, for the launchers of the sample plugins.

import { bundled, programArgv } from '../../engine/runtime/program-files.ts';

/** Each start compiles the sources anew unless they are kept: 170 ms against 50 ms. The executable keeps them itself. */
export const runtimeArgv = (compiled: string): readonly string[] =>
  bundled ? programArgv() : ['/usr/bin/env', `NODE_COMPILE_CACHE=${compiled}`, ...programArgv()];
