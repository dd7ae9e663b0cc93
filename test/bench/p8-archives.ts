// P8: archives unpacked with all checks, of paths, sizes, limits and checksums, and packed; beside the fastest programs that
// do the same. Per core used: ours and 7zz use several.

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkTarGz, checkZip } from './archive-check.ts';
import { bsdtarCreate, bsdtarExtract, pigzCreate, sevenZipCreate, sevenZipExtract, zipCli } from './archive-peers.ts';
import { type ArchiveRow, type ArchiveSite, archiveRow, archiveSites } from './archive-row.ts';
import { LIMITS } from './archive-threads.ts';
import { checkTree, type Tree } from './archive-tree.ts';
import type { BenchRow } from './row.ts';

const BIG_FILES = 32;
const LEVEL = 6;
const signal = new AbortController().signal;

interface Packed extends ArchiveSite {
  readonly zips: ReadonlyMap<Tree, string>;
  readonly tarGz: string;
}

const sites = archiveSites(tmpdir(), BIG_FILES, async ({ dir, big, small }) => {
  const zips = new Map([
    [big, join(dir, 'big.zip')],
    [small, join(dir, 'small.zip')],
  ]);
  for (const [tree, zip] of zips) await zipCli(tree, zip, LEVEL);
  const tarGz = join(dir, 'big.tgz');
  await pigzCreate(big, tarGz, LEVEL);
  return { zips, tarGz };
});
export const close = sites.close;

const SIDES = {
  sevenZip: { is: 'peer', what: '7zz of 7-Zip' },
  bsdtar: { is: 'peer', what: 'bsdtar of libarchive' },
  pigz: { is: 'peer', what: 'GNU tar through pigz -p2' },
} as const;

export const rows: readonly BenchRow[] = [
  unzipping('P8a', `a deflated zip of ${BIG_FILES} files of 4 MiB, unpacked and verified`, 'MB/s', (site) => site.big),
  unzipping('P8b', 'a deflated zip of 2,000 files of 4 KiB, unpacked and verified', 'files/s', (site) => site.small),
  row('P8c', `a tar.gz of ${BIG_FILES} files of 4 MiB, unpacked and verified`, {
    into: 'folder',
    ways: {
      ours: ({ archives, tarGz }, target) =>
        archives.unpack({ file: tarGz, kind: 'tar.gz', dir: target, limits: LIMITS }, signal),
      bsdtar: ({ tarGz }, target) => bsdtarExtract(tarGz, target),
    },
    check: ({ big }, target) => checkTree(target, big),
  }),
  row('P8d', `a deflated zip (level ${LEVEL}) of ${BIG_FILES} files of 4 MiB`, {
    into: 'file',
    ways: {
      ours: ({ archives, big }, target) => archives.zip(target, big.files, { level: LEVEL }, signal),
      sevenZip: ({ big }, target) => sevenZipCreate(big, target, LEVEL),
      bsdtar: ({ big }, target) => bsdtarCreate(big, target, 'zip', LEVEL),
    },
    check: ({ big }, target) => checkZip(target, big),
  }),
  row('P8e', `a tar.gz (level ${LEVEL}) of ${BIG_FILES} files of 4 MiB`, {
    into: 'file',
    ways: {
      ours: ({ archives, big }, target) => archives.tarGz(target, big.files, signal),
      bsdtar: ({ big }, target) => bsdtarCreate(big, target, 'gzip', LEVEL),
      pigz: ({ big }, target) => pigzCreate(big, target, LEVEL),
    },
    check: ({ big }, target) => checkTarGz(target, big),
  }),
];

function unzipping(id: string, title: string, unit: 'MB/s' | 'files/s', tree: (site: Packed) => Tree): BenchRow {
  const zipOf = (site: Packed): string => site.zips.get(tree(site)) ?? '';
  return row(id, title, {
    ...{ unit, tree, into: 'folder' },
    ways: {
      ours: (site, target) =>
        site.archives.unpack({ file: zipOf(site), kind: 'zip', dir: target, limits: LIMITS }, signal),
      sevenZip: (site, target) => sevenZipExtract(zipOf(site), target),
      bsdtar: (site, target) => bsdtarExtract(zipOf(site), target),
    },
    check: (site, target) => checkTree(target, tree(site)),
  });
}

type About = Pick<ArchiveRow<Packed>, 'ways' | 'into' | 'check'> & Partial<Pick<ArchiveRow<Packed>, 'unit' | 'tree'>>;

function row(id: string, title: string, about: About): BenchRow {
  const peers = Object.keys(about.ways).filter((way) => way !== 'ours') as (keyof typeof SIDES)[];
  const [first, ...others] = peers.map((over) => ({ over, atLeast: 1 }));
  if (!first) throw new Error(`${id}: no peer`);
  return archiveRow<Packed>({
    ...{ unit: 'MB/s', tree: (site) => site.big, ...about },
    ...{ id, title: `${title}, per core used`, sites, bars: [first, ...others] },
    sides: Object.fromEntries(peers.map((peer) => [peer, SIDES[peer]])),
  });
}
