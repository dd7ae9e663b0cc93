// Installs the clients of this folder, without the scripts that they would run when installed.

import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';

const folder = import.meta.dirname;

export function installTusClients(): void {
  if (changed(join(folder, 'package-lock.json')) > changed(join(folder, 'node_modules', '.package-lock.json')))
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-fund', '--no-audit'], { cwd: folder, stdio: 'ignore' });
}

/** When a file was last written; 0 where there is none. */
function changed(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
