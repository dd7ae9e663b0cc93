// Checks that a program named in the configuration can be executed, for /health.

import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { transient } from '../../../engine/runtime/failure.ts';

/**
 * @param program a path, or a name to look up in `path`
 * @param path colon-separated directories
 * @throws Failure `transient` when there is no such executable
 */
export async function findProgram(program: string, path: string): Promise<void> {
  const dirs = path.split(delimiter).filter(isAbsolute);
  const places = program.includes('/') ? [program] : dirs.map((dir) => join(dir, program));
  for (const place of places) {
    const found = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return;
  }
  throw transient('it does not exist or is not executable');
}
