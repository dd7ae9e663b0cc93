// M13: a zip unpacked into a folder, with all checks: of paths, of sizes, of limits, of checksums.

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bsdtarExtract, yauzlUnzip, zipCli } from './archive-peers.ts';
import { type ArchiveRow, type ArchiveSite, archiveRow, archiveSites } from './archive-row.ts';
import { LIMITS } from './archive-threads.ts';
import { checkTree, type Tree } from './archive-tree.ts';
import type { BenchRow } from './row.ts';

const BIG_FILES = 64;
const LEVEL = 6;
const signal = new AbortController().signal;

interface UnzipSite extends ArchiveSite {
  readonly zips: ReadonlyMap<Tree, string>;
}

const sites = archiveSites(tmpdir(), BIG_FILES, async ({ dir, big, small }) => {
  const zips = new Map([
    [big, join(dir, 'big.zip')],
    [small, join(dir, 'small.zip')],
  ]);
  for (const [tree, zip] of zips) await zipCli(tree, zip, LEVEL);
  return { zips };
});
export const close = sites.close;

export const rows: readonly BenchRow[] = [
  unpacking({
    id: 'M13a',
    title: `a deflated zip of ${BIG_FILES} files of 4 MiB, unpacked and verified`,
    unit: 'MB/s',
    tree: (site) => site.big,
    bars: [
      { over: 'yauzl', atLeast: 4 },
      { over: 'bsdtar', atLeast: 1.7 },
    ],
  }),
  unpacking({
    id: 'M13b',
    title: 'a deflated zip of 2,000 files of 4 KiB, unpacked and verified',
    unit: 'files/s',
    tree: (site) => site.small,
    bars: [{ over: 'bsdtar', atLeast: 0.9 }],
  }),
];

function unpacking(about: Pick<ArchiveRow<UnzipSite>, 'id' | 'title' | 'unit' | 'tree' | 'bars'>): BenchRow {
  const zipOf = (site: UnzipSite): string => site.zips.get(about.tree(site)) ?? '';
  return archiveRow({
    ...about,
    sites,
    into: 'folder',
    sides: {
      yauzl: { is: 'peer', what: 'yauzl, each entry piped to a file; it compares no checksums' },
      bsdtar: { is: 'peer', what: 'bsdtar -xf of libarchive' },
    },
    ways: {
      ours: (site, target) => site.archives.unpack(zipOf(site), target, LIMITS, signal),
      yauzl: (site, target) => yauzlUnzip(zipOf(site), target),
      bsdtar: (site, target) => bsdtarExtract(zipOf(site), target),
    },
    check: (site, target) => checkTree(target, about.tree(site)),
  });
}
