// Installs the linters and generators of this folder, without the scripts that they would run.

import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';

const folder = import.meta.dirname;
if (changed('package-lock.json') > changed(join('node_modules', '.package-lock.json')))
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-fund', '--no-audit'], { cwd: folder, stdio: 'inherit' });

/** When a file was last written; 0 where there is none. */
function changed(file: string): number {
  return statSync(join(folder, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
