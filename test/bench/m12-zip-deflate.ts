// M12: a zip that deflates at level 6, made of files on disk and written to memory's file system.

import { checkZip } from './archive-check.ts';
import { archiverZip, yazlZip, zipCli } from './archive-peers.ts';
import { archiveRow, archiveSites, MEMORY } from './archive-row.ts';
import type { BenchRow } from './row.ts';

/** Half of those of the other measures: the slowest of the peers takes 5 s for them. */
const BIG_FILES = 32;
const LEVEL = 6;
const signal = new AbortController().signal;

const sites = archiveSites(MEMORY, BIG_FILES, async () => ({}));
export const close = sites.close;

export const rows: readonly BenchRow[] = [
  archiveRow({
    id: 'M12',
    title: `a deflated zip (level ${LEVEL}) of ${BIG_FILES} files of 4 MiB`,
    unit: 'MB/s',
    tree: (site) => site.big,
    sites,
    into: 'file',
    sides: {
      yazl: { is: 'peer', what: 'yazl, files added by name, piped to a file' },
      archiver: { is: 'peer', what: 'archiver, files added by name, piped to a file' },
      zip: { is: 'peer', what: 'zip -r -6 of Info-ZIP' },
    },
    bars: [
      { over: 'yazl', atLeast: 2.3 },
      { over: 'zip', atLeast: 3 },
    ],
    ways: {
      ours: ({ archives, big }, target) => archives.zip(target, big.files, { level: LEVEL }, signal),
      yazl: ({ big }, target) => yazlZip(big, target, LEVEL),
      archiver: ({ big }, target) => archiverZip(big, target, LEVEL),
      zip: ({ big }, target) => zipCli(big, target, LEVEL),
    },
    check: ({ big }, target) => checkZip(target, big),
  }),
];
