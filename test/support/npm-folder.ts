// Packages that only some tests need, in a folder with a lock file of its own.

import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';

/** Installs what the lock file of the folder names, unless it is there. No script of a package runs. */
export function installFolder(folder: string): void {
  if (changed(join(folder, 'package-lock.json')) > changed(join(folder, 'node_modules', '.package-lock.json')))
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-fund', '--no-audit'], { cwd: folder, stdio: 'inherit' });
}

/** When a file was last written; 0 where there is none. */
function changed(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
