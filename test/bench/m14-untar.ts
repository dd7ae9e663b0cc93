// M14: a tar.gz unpacked into a folder, with all checks.

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bareGunzip, bsdtarExtract, pigzCreate, tarExtract } from './archive-peers.ts';
import { archiveRow, archiveSites } from './archive-row.ts';
import { LIMITS } from './archive-threads.ts';
import { checkTree } from './archive-tree.ts';
import type { BenchRow } from './row.ts';

const BIG_FILES = 64;
const LEVEL = 6;
const signal = new AbortController().signal;

const sites = archiveSites(tmpdir(), BIG_FILES, async ({ dir, big }) => {
  const tarGz = join(dir, 'big.tgz');
  await pigzCreate(big, tarGz, LEVEL);
  return { tarGz };
});
export const close = sites.close;

export const rows: readonly BenchRow[] = [
  archiveRow({
    id: 'M14',
    title: `a tar.gz of ${BIG_FILES} files of 4 MiB, unpacked and verified`,
    unit: 'MB/s',
    tree: (site) => site.big,
    sites,
    into: 'folder',
    sides: {
      inflate: { is: 'limit', what: "Node's zlib alone, as a stream with chunks of 256 KiB; nothing is written" },
      tar: { is: 'peer', what: 'tar (npm), tar.x of the file' },
      bsdtar: { is: 'peer', what: 'bsdtar -xf of libarchive' },
    },
    bars: [
      { over: 'inflate', atLeast: 0.95 },
      { over: 'tar', atLeast: 1.8 },
      { over: 'bsdtar', atLeast: 1 },
    ],
    ways: {
      ours: ({ packages, tarGz }, target) =>
        packages.unpack({ file: tarGz, kind: 'tar.gz', dir: target, limits: LIMITS }, signal),
      inflate: ({ tarGz }) => bareGunzip(tarGz),
      tar: ({ tarGz }, target) => tarExtract(tarGz, target),
      bsdtar: ({ tarGz }, target) => bsdtarExtract(tarGz, target),
    },
    check: async ({ big }, target, way) => {
      if (way !== 'inflate') await checkTree(target, big);
    },
  }),
];
