// M11: a zip that only stores, made of files on disk and written to memory's file system, and its download.

import { join } from 'node:path';
import { checkZip } from './archive-check.ts';
import { archiverZip, yazlZip, zipCli } from './archive-peers.ts';
import { type ArchiveRow, type ArchiveSite, archiveRow, archiveSites, MEMORY } from './archive-row.ts';
import type { Tree } from './archive-tree.ts';
import { DownloadServer, type Served } from './download.ts';
import type { BenchRow } from './row.ts';

const BIG_FILES = 64;
const STORED = 0;
const signal = new AbortController().signal;

interface StoredSite extends ArchiveSite {
  /** The whole of the stored zip of the large files. */
  readonly download: (by: Served) => Promise<void>;
}

const sites = archiveSites(MEMORY, BIG_FILES, async ({ dir, archives, big }) => {
  const zip = join(dir, 'download.zip');
  const { bytes } = await archives.zip(zip, big.files, { level: STORED }, signal);
  // Ends with this process.
  const server = await DownloadServer.start(zip);
  return {
    async download(by: Served) {
      const got = await server.download(by);
      if (got < bytes) throw new Error(`${got} of ${bytes} bytes came`);
    },
  };
});
export const close = sites.close;

export const rows: readonly BenchRow[] = [
  packing({
    id: 'M11a',
    title: `a stored zip of ${BIG_FILES} files of 4 MiB`,
    unit: 'MB/s',
    rounds: 15,
    tree: (site) => site.big,
    bars: [{ over: 'yazl', atLeast: 8 }],
  }),
  packing({
    id: 'M11b',
    title: 'a stored zip of 2,000 files of 4 KiB',
    unit: 'files/s',
    tree: (site) => site.small,
    bars: [{ over: 'yazl', atLeast: 20 }],
  }),
  archiveRow<StoredSite>({
    id: 'M11c',
    title: 'download of a stored zip of 268 MB from the directory store',
    unit: 'MB/s',
    tree: (site) => site.big,
    sites,
    into: 'file',
    sides: { tcp: { is: 'limit', what: 'the same bytes over bare sockets, 256 KiB at a time from one buffer' } },
    bars: [{ over: 'tcp', atLeast: 0.8 }],
    ways: { ours: ({ download }) => download('ours'), tcp: ({ download }) => download('tcp') },
    // Its bytes were counted.
    check: async () => undefined,
  }),
];

function packing(about: Pick<ArchiveRow<ArchiveSite>, 'id' | 'title' | 'unit' | 'rounds' | 'tree' | 'bars'>): BenchRow {
  const by = (make: (tree: Tree, target: string, level: number) => Promise<unknown>) => {
    return (site: ArchiveSite, target: string) => make(about.tree(site), target, STORED);
  };
  return archiveRow({
    ...about,
    sites,
    into: 'file',
    sides: {
      yazl: { is: 'peer', what: 'yazl, files added by name, piped to a file' },
      archiver: { is: 'peer', what: 'archiver with store, files added by name, piped to a file' },
      zip: { is: 'peer', what: 'zip -r -0 of Info-ZIP' },
    },
    ways: {
      ours: (site, target) => site.archives.zip(target, about.tree(site).files, { level: STORED }, signal),
      yazl: by(yazlZip),
      archiver: by(archiverZip),
      zip: by(zipCli),
    },
    check: (site, target) => checkZip(target, about.tree(site)),
  });
}
