// The reference implementation of BIOM, in Python, in a virtual environment in the cache folder of the user.

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

export const BIOM_FORMAT = 'biom-format';
const VERSION = '2.1.18';
const folder = join(
  process.env.XDG_CACHE_HOME || join(homedir(), '.cache'),
  'longshore-tests',
  `biom-format-${VERSION}`,
);

/** Programs of the environment. */
export const BIOM_PYTHON = join(folder, 'bin', 'python');
export const BIOM_PROGRAM = join(folder, 'bin', 'biom');

/** Once for each version; the program is the last that pip writes. */
export function installBiomFormat(): void {
  if (existsSync(BIOM_PROGRAM)) return;
  console.log(`installing ${BIOM_FORMAT} ${VERSION} in ${folder}`);
  const options = { stdio: 'inherit' } as const;
  execFileSync('/usr/bin/python3', ['-m', 'venv', folder], options);
  execFileSync(BIOM_PYTHON, ['-m', 'pip', 'install', '--quiet', `${BIOM_FORMAT}==${VERSION}`], options);
}
