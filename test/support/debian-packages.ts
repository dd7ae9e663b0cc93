// Installs Debian packages that tests need, as root, where a file that they bring is missing. The servers that they would
// start by themselves are not wanted and not started.

import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';

/** `packages`: names by a pattern of a file that the package brings. Ends this process when they cannot be had. */
export function installMissing(packages: Readonly<Record<string, string>>): void {
  const missing = [
    ...new Set(
      Object.entries(packages)
        .filter(([file]) => globSync(file).length === 0)
        .map(([, name]) => name),
    ),
  ];
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || globSync('/usr/bin/apt-get').length === 0) {
    console.error(`missing: ${missing.join(' ')}; only root on Debian can have them installed here`);
    process.exit(1);
  }
  console.log(`installing ${missing.join(' ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  execFileSync('apt-get', ['update', '-qq'], { stdio: 'inherit', env });
  execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing], { stdio: 'inherit', env });
}
