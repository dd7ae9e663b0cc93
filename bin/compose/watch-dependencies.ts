// Probes every dependency four times a minute, for `longshore_dependency_up` and for the log, which reports when a dependency
// becomes unavailable and when it is back. The first probe is right after startup.

import type { Configuration } from '../../config/configuration.ts';
import { diskOf, type WrittenFolder } from '../../engine/adapters/uploads/disk-floor.ts';
import type { DiskRoom } from '../../engine/ports/storage-room.ts';
import type { ChildSpec } from '../../engine/runtime/actor.ts';
import { Failure, messageOf, transient } from '../../engine/runtime/failure.ts';
import { type Clock, deadline } from '../../engine/runtime/time.ts';
import { Timer, type TimerParts } from '../../engine/runtime/timer.ts';
import { unlessAborted } from '../../engine/runtime/wait.ts';
import type { HealthCheck } from '../../http/kernel/pipeline/ops.ts';

const NAME = 'dependencyWatch';
const PERIOD_MS = 15_000;
const PROBE_MS = 10_000;
const VITAL_AWAY = 'a dependency is unavailable; the service cannot work until it is back';
const OTHER_AWAY = 'a dependency is unavailable; the service is degraded until it is back';

export function dependencyWatch(checks: readonly HealthCheck[], { clock, log, metrics }: TimerParts): ChildSpec {
  const gauge = metrics.gauge('dependency_up', '1 while the dependency responds.', ['dependency']);
  const away = new Set<string>();
  const look = async (check: HealthCheck, signal: AbortSignal): Promise<void> => {
    const reason = await reasonAway(check, clock, signal);
    if (signal.aborted) return;
    const { name } = check;
    gauge.set({ dependency: name }, reason === undefined ? 1 : 0);
    if (reason !== undefined && !away.has(name))
      log.warn({ dependency: name, reason }, check.vital ? VITAL_AWAY : OTHER_AWAY);
    else if (reason === undefined && away.has(name)) log.info({ dependency: name }, 'a dependency is back');
    if (reason === undefined) away.delete(name);
    else away.add(name);
  };
  const runOnce = async (signal: AbortSignal): Promise<void> => {
    await Promise.all(checks.map((check) => look(check, signal)));
  };
  const create = (): Timer<void> =>
    new Timer<void>({ name: NAME, periodMs: PERIOD_MS, firstMs: 0, runOnce, clock, log, metrics });
  return { name: NAME, create };
}

/** Undefined when it responds. */
async function reasonAway({ probe }: HealthCheck, clock: Clock, signal: AbortSignal): Promise<string | undefined> {
  using limit = deadline(clock, PROBE_MS, signal, () => transient(`no response within ${PROBE_MS / 1000} s`));
  try {
    await unlessAborted(probe(limit.signal), limit.signal);
    return undefined;
  } catch (error) {
    // Only messages of our own failures: others may contain a URL with a password.
    return error instanceof Failure ? messageOf(error) : 'the check failed';
  }
}

// Free space of the disks that a configuration writes to, as metrics. Read four times a minute instead of at each scrape, so
// that a network disk that hangs does not delay scrapes.

type Sections = Pick<Configuration, 'pluginHost'> & {
  readonly installer: Pick<Configuration['installer'], 'plugins'> &
    Partial<Pick<Configuration['installer'], 'objectStore'>>;
  readonly handler?: Configuration['handler'];
};

const DISK_WATCH = 'diskWatch';

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

export function diskWatch(folders: readonly WrittenFolder[], { clock, log, metrics }: TimerParts): ChildSpec {
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
    new Timer<void>({ name: DISK_WATCH, periodMs: PERIOD_MS, firstMs: 0, runOnce, clock, log, metrics });
  return { name: DISK_WATCH, create };
}
