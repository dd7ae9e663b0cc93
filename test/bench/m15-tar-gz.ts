// M15: files packed as a tar.gz at level 6, as results of handler jobs are.

import { checkTarGz } from './archive-check.ts';
import { pigzCreate, tarCreate } from './archive-peers.ts';
import { archiveRow, archiveSites, MEMORY } from './archive-row.ts';
import type { BenchRow } from './row.ts';

/** Half of those of the other measures: the slowest of the peers takes 4 s for them. */
const BIG_FILES = 32;
const LEVEL = 6;
const signal = new AbortController().signal;

const sites = archiveSites(MEMORY, BIG_FILES, async () => ({}));
export const close = sites.close;

export const rows: readonly BenchRow[] = [
  archiveRow({
    id: 'M15',
    title: `a tar.gz (level ${LEVEL}) of ${BIG_FILES} files of 4 MiB`,
    unit: 'MB/s',
    rounds: 15,
    tree: (site) => site.big,
    sites,
    into: 'file',
    sides: {
      tar: { is: 'peer', what: 'tar (npm), tar.c to a file' },
      pigz: { is: 'peer', what: 'GNU tar through pigz -p2' },
    },
    bars: [
      { over: 'tar', atLeast: 2 },
      { over: 'pigz', atLeast: 1.4 },
    ],
    ways: {
      ours: ({ packages, big }, target) => packages.pack({ target, files: big.files }, signal),
      tar: ({ big }, target) => tarCreate(big, target, LEVEL),
      pigz: ({ big }, target) => pigzCreate(big, target, LEVEL),
    },
    check: ({ big }, target) => checkTarGz(target, big),
  }),
];
