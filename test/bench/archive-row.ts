// A row that packs or unpacks the same files in several ways, one after the other in each round, and looks at what came
// of it after each: what is not the files that went in ends the measure.

import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ArchiveThreads, archiveThreads } from './archive-threads.ts';
import { makeTree, type Tree } from './archive-tree.ts';
import { type OpenedOnce, openedOnce } from './opened-once.ts';
import { cpuSeconds } from './processes.ts';
import type { BenchRow, Round } from './row.ts';

export interface ArchiveSite extends AsyncDisposable, ArchiveThreads {
  readonly dir: string;
  /** Files of 4 MiB. */
  readonly big: Tree;
  /** 2,000 files of 4 KiB. */
  readonly small: Tree;
}

const SMALL_FILES = 2_000;
const SMALL_BYTES = 4 * 1024;
const BIG_BYTES = 4 * 1024 * 1024;

/** Where it exists, what is packed costs no disk, whose speed swings by itself: the rows are about packing. */
export const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** Below the folder `at`; `ready` makes what the rows read. */
export function archiveSites<Made>(
  at: string,
  bigFiles: number,
  ready: (site: ArchiveSite) => Promise<Made>,
): OpenedOnce<ArchiveSite & Made> {
  return openedOnce(async () => {
    const dir = await mkdtemp(join(at, 'longshore-bench-'));
    const threads = await archiveThreads();
    const site: ArchiveSite = {
      dir,
      archives: threads.archives,
      big: await makeTree(join(dir, 'big'), bigFiles, BIG_BYTES),
      small: await makeTree(join(dir, 'small'), SMALL_FILES, SMALL_BYTES),
      async [Symbol.asyncDispose]() {
        await threads[Symbol.asyncDispose]();
        await rm(dir, { recursive: true });
      },
    };
    return Object.assign(site, await ready(site));
  });
}

export interface ArchiveRow<Site> extends Pick<BenchRow, 'id' | 'title' | 'sides' | 'bars' | 'watched'> {
  readonly sites: OpenedOnce<Site>;
  /** The files that a figure counts. */
  readonly tree: (site: Site) => Tree;
  /** MB of content, or files, per second and core used: by the processor time of this process and of those that it runs. */
  readonly unit: 'MB/s' | 'files/s';
  /** Each works on `target`, which is a new folder for those that unpack and not there for those that pack. */
  readonly ways: Readonly<Record<string, (site: Site, target: string) => Promise<unknown>>>;
  readonly into: 'folder' | 'file';
  /** Not timed; throws when the work is not done. */
  readonly check: (site: Site, target: string, way: string) => Promise<void>;
}

export function archiveRow<Site extends ArchiveSite>(row: ArchiveRow<Site>): BenchRow {
  const { id, title, sides, bars, unit, watched } = row;
  return {
    ...{ id, title, sides, bars, unit, better: 'higher', ...(watched ? { watched } : {}) },
    async measure(rounds) {
      const site = await row.sites.get();
      const measured: Round[] = [];
      // The first is not counted: it fills the caches.
      for (let n = -1; n < rounds; n++) {
        const round = await roundOf(row, site);
        if (n >= 0) measured.push(round);
      }
      return measured;
    },
  };
}

async function roundOf<Site extends ArchiveSite>(row: ArchiveRow<Site>, site: Site): Promise<Round> {
  const { files, bytes } = row.tree(site);
  const amount = row.unit === 'files/s' ? files.length : bytes / 1e6;
  const round: Record<string, number> = {};
  for (const [way, work] of Object.entries(row.ways)) {
    const target = join(site.dir, row.into === 'folder' ? 'unpacked' : 'packed.archive');
    if (row.into === 'folder') await mkdir(target);
    const [begun, used] = [performance.now(), cpuSeconds([process.pid], process.pid)];
    await work(site, target);
    round[`${way} by the clock`] = amount / ((performance.now() - begun) / 1_000);
    round[way] = amount / (cpuSeconds([process.pid], process.pid) - used);
    await row.check(site, target, way);
    await rm(target, { recursive: true, force: true });
  }
  return round as Round;
}
