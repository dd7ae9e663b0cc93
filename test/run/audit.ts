// Whether a package of the lock file has a known hole. The registry is asked where it answers (`npm audit`); where it does
// not, or cannot be reached, the lock file is compared with advisories.json beside this file. Says which it was.
//   node test/run/audit.ts

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Advisory, type Audited, auditedByRegistry, lockedPackages, vulnerable } from './advisories.ts';
import { root } from './suites.ts';

const PATIENCE_MS = 60_000;

const read = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'));

process.exitCode = await main();

async function main(): Promise<number> {
  const packages = lockedPackages(read('package-lock.json'));
  const answer = auditedByRegistry(await askRegistry());
  const advisories = read('test/run/advisories.json') as readonly Advisory[];
  const found: Audited = answer ?? vulnerable(packages, advisories);
  const by = answer
    ? 'the registry'
    : `${advisories.length} advisories of test/run/advisories.json: the registry does not answer`;
  console.log(`${packages.length} packages of package-lock.json compared with ${by}`);
  for (const fault of found) console.log(`FAIL ${fault}`);
  return found.length === 0 ? 0 : 1;
}

/** Its exit code tells of findings as of failures; what it prints tells them apart. */
function askRegistry(): Promise<string> {
  return new Promise((resolve) => {
    const options = { cwd: root, timeout: PATIENCE_MS, maxBuffer: 64 * 1024 * 1024 };
    execFile('npm', ['audit', '--json'], options, (_error, stdout) => resolve(stdout));
  });
}
