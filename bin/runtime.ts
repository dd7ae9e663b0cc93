// How this program starts itself again, for the launchers of the sample plugins.

import { join } from 'node:path';

export const RUNTIME_ARGV: readonly string[] = [process.execPath, join(import.meta.dirname, 'longshore.ts')];
