// Installs Debian's browser where it is missing, because pages are looked at in a real one, and the searches that reports are of.
// Builds the console if its sources are newer, so that nobody looks at old pages.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { installMissing } from '../support/debian-packages.ts';

installMissing({ '/usr/bin/chromium': 'chromium', '/usr/bin/blast_formatter': 'ncbi-blast+' });

const root = join(import.meta.dirname, '..', '..');
execFileSync(process.execPath, [join(root, 'bin', 'build', 'console.ts'), '--if-stale'], {
  cwd: root,
  stdio: 'inherit',
});
