// Free space of the disks that a configuration writes to, as metrics. Read four times a minute instead of at each scrape, so
// that a network disk that hangs does not delay scrapes.

import type { Configuration } from '../../config/configuration.ts';
import { diskOf, type WrittenFolder } from '../../engine/adapters/uploads/disk-floor.ts';
import type { DiskRoom } from '../../engine/ports/storage-room.ts';
import type { ChildSpec } from '../../engine/runtime/child.ts';
import { transient } from '../../engine/runtime/failure.ts';
import { Timer } from '../../engine/runtime/timer.ts';
import type { HealthCheck } from '../../http/kernel/pipeline/ops.ts';
import type { WatchParts } from './watch-dependencies.ts';

type Sections = Pick<Configuration, 'pluginHost'> & {
  readonly installer: Pick<Configuration['installer'], 'plugins'> &
    Partial<Pick<Configuration['installer'], 'objectStore'>>;
  readonly handler?: Configuration['handler'];
};

const NAME = 'diskWatch';
const PERIOD_MS = 15_000;

/**
 * The folders that this process writes to on its own machine, without duplicates. @param hosted keys of the plugins that it
 * hosts
 */
export function writtenFolders(
  { installer, handler, pluginHost }: Sections,
  hosted: readonly string[],
  scratchDir: string,
): readonly WrittenFolder[] {
  const { objectStore, plugins } = installer;
  const folders = [
    { role: 'the scratch space', folder: scratchDir },
    { role: 'the object store', folder: objectStore?.driver === 'directory' ? objectStore.path : undefined },
    { role: 'the handler jobs', folder: handler?.workspace },
    { role: 'the plugin host', folder: hosted.length > 0 ? pluginHost?.workspace : undefined },
    ...hosted.map((key) => ({ role: 'the installed files', folder: plugins[key]?.installRoot })),
  ];
  const known = folders.flatMap(({ role, folder }) => (folder === undefined ? [] : [{ role, folder }]));
  return [...new Map(known.map((one) => [one.folder, one])).values()];
}

/** A disk below its floor makes a service degraded: it still reads and removes, and resumes writing by itself. */
export const roomCheck = (room: DiskRoom): HealthCheck => ({
  name: 'disks',
  vital: false,
  async probe() {
    const lack = await room.lack();
    if (lack !== undefined) throw transient(lack);
  },
});

export function diskWatch(folders: readonly WrittenFolder[], { clock, log, metrics }: WatchParts): ChildSpec {
  const free = metrics.gauge('disk_free_bytes', 'Free space on the disk of a folder that this process writes to.', [
    'folder',
  ]);
  const size = metrics.gauge('disk_size_bytes', 'Size of the disk of a folder that this process writes to.', [
    'folder',
  ]);
  const runOnce = async (): Promise<void> => {
    for (const { folder } of folders) {
      const { freeBytes, sizeBytes } = await diskOf(folder);
      free.set({ folder }, freeBytes);
      size.set({ folder }, sizeBytes);
    }
  };
  const create = (): Timer<void> =>
    new Timer<void>({ name: NAME, periodMs: PERIOD_MS, firstMs: 0, runOnce, clock, log, metrics });
  return { name: NAME, create };
}
