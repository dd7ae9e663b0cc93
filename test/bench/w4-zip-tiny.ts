// W4: a zip that only stores, of tiny files on disk, written to memory's file system.

import { checkZip } from './archive-check.ts';
import { yazlZip, zipCli } from './archive-peers.ts';
import { archiveRow, archiveSites, MEMORY } from './archive-row.ts';
import type { BenchRow } from './row.ts';

const STORED = 0;
const signal = new AbortController().signal;
const sites = archiveSites(MEMORY, 1, async () => ({}));
export const close = sites.close;

export const rows: readonly BenchRow[] = [
  archiveRow({
    id: 'W4',
    watched: true,
    title: 'a stored zip of 2,000 files of 4 KiB',
    unit: 'files/s',
    tree: (site) => site.small,
    sites,
    into: 'file',
    sides: {
      yazl: { is: 'peer', what: 'yazl, files added by name, piped to a file' },
      zip: { is: 'peer', what: 'zip -r -0 of Info-ZIP' },
    },
    bars: [
      { over: 'zip', atLeast: 0.8 },
      { over: 'yazl', atLeast: 0.8 },
    ],
    ways: {
      ours: ({ archives, small }, target) => archives.zip(target, small.files, { level: STORED }, signal),
      yazl: ({ small }, target) => yazlZip(small, target, STORED),
      zip: ({ small }, target) => zipCli(small, target, STORED),
    },
    check: ({ small }, target) => checkZip(target, small),
  }),
];
