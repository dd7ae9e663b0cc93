// Free space of the disks that a configuration writes to, as metrics: read four times a minute and not at a scrape, so
// that a disk of the network that hangs holds up no scrape.

import type { StatsFs } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Configuration } from '../config/configuration.ts';
import type { ChildSpec } from '../engine/child.ts';
import { messageOf, transient } from '../engine/failure.ts';
import { Timer } from '../engine/timer.ts';
import type { WatchParts } from './watch-dependencies.ts';

type Sections = Pick<Configuration, 'pluginHost'> & {
  readonly installer: Pick<Configuration['installer'], 'plugins'> &
    Partial<Pick<Configuration['installer'], 'objectStore'>>;
  readonly handler?: Configuration['handler'];
};

const NAME = 'diskWatch';
const PERIOD_MS = 15_000;

/** What this process writes to on its own machine, each once. `hosted` are the keys of the plugins that it hosts. */
export function writtenFolders(
  { installer, handler, pluginHost }: Sections,
  hosted: readonly string[],
  scratchDir: string,
): readonly string[] {
  const { objectStore, plugins } = installer;
  const folders = [
    scratchDir,
    objectStore?.driver === 'directory' ? objectStore.path : undefined,
    handler?.workspace,
    hosted.length > 0 ? pluginHost?.workspace : undefined,
    ...hosted.map((key) => plugins[key]?.installRoot),
  ];
  return [...new Set(folders.filter((folder) => folder !== undefined))];
}

export function diskWatch(folders: readonly string[], { clock, log, metrics }: WatchParts): ChildSpec {
  const free = metrics.gauge('disk_free_bytes', 'Free space on the disk of a folder that this process writes to.', [
    'folder',
  ]);
  const size = metrics.gauge('disk_size_bytes', 'Size of the disk of such a folder.', ['folder']);
  const runOnce = async (): Promise<void> => {
    for (const folder of folders) {
      const { bavail, blocks, bsize } = await diskOf(folder);
      free.set({ folder }, bavail * bsize);
      size.set({ folder }, blocks * bsize);
    }
  };
  const create = (): Timer<void> =>
    new Timer<void>({ name: NAME, periodMs: PERIOD_MS, firstMs: 0, runOnce, clock, log, metrics });
  return { name: NAME, create };
}

/** Of the folder, or of the nearest above it that is there: some are made with the first thing that is put there. */
async function diskOf(folder: string): Promise<StatsFs> {
  for (let at = folder; ; at = dirname(at)) {
    try {
      return await statfs(at);
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      if (!isMissing || at === dirname(at))
        throw transient(`free space of ${folder}: ${messageOf(error)}`, { cause: error });
    }
  }
}
