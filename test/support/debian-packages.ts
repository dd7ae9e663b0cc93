// Installs Debian packages that tests need, as root, where a file that they bring is missing. The servers that they would
// start by themselves are not wanted and not started.

import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { demandNone, type Missing } from './missing.ts';

/** Names of packages by a pattern of a file that the package brings. */
export type DebianPackages = Readonly<Record<string, string>>;

/** Ends this process when they cannot be had. */
export function installMissing(packages: DebianPackages): void {
  demandNone(installDebian(packages));
}

/** @returns what cannot be had */
export function installDebian(packages: DebianPackages): readonly Missing[] {
  const missing = missingOf(packages);
  if (missing.length === 0) return [];
  const [isRoot, isDebian] = [process.getuid?.() === 0, globSync('/usr/bin/apt-get').length > 0];
  if (isRoot && isDebian) {
    console.log(`installing ${missing.join(' ')}`);
    const options = {
      stdio: 'inherit',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
    } as const;
    try {
      execFileSync('apt-get', ['update', '-qq'], options);
      execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing], options);
    } catch {
      // It has said why.
    }
  }
  const lacking = missingOf(packages);
  if (lacking.length === 0) return [];
  const get = !isDebian
    ? 'install the programs in another way, where Debian has them: ' +
      Object.entries(packages)
        .flatMap(([file, name]) => (lacking.includes(name) ? [file] : []))
        .join(' ')
    : isRoot
      ? 'apt-get failed, as said above; where the archive is not reached, name a mirror in /etc/apt/sources.list'
      : `as root: apt-get install --no-install-recommends ${lacking.join(' ')}`;
  return [{ names: lacking, from: "Debian's archive by apt-get, as root", get }];
}

const missingOf = (packages: DebianPackages): readonly string[] => [
  ...new Set(
    Object.entries(packages)
      .filter(([file]) => globSync(file).length === 0)
      .map(([, name]) => name),
  ),
];
