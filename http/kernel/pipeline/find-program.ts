// Whether a program that is named in the configuration can be run, for /health.

import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { transient } from '../../../engine/runtime/failure.ts';

/**
 * @param program a path, or a name that is looked for
 * @param path colon-separated directories
 * @throws Failure `transient` when there is none that may be executed
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
