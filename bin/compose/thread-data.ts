// The data that cross the thread boundary: how a thread opens its resources, and every task that it knows.

import type { PackOrder, UnpackOrder } from '../../actors/handler/packages.ts';
import type { Unpacked } from '../../actors/plugin-host/archives.ts';
import type { LaneTasks } from '../../actors/tasks/task-map.ts';
import type { PluginHttpOptions } from '../../engine/adapters/plugins/plugin-http.ts';
import type { RemoteHttpOptions } from '../../engine/adapters/remote/remote-http.ts';
import type { PackedFile, WrittenArchive } from '../../engine/archive/archive-entry.ts';
import type { ArchiveLimits } from '../../engine/archive/archive-limits.ts';
import type { StoreData } from './store-reader.ts';

export interface ThreadData {
  /** Undefined where no task reads objects. */
  readonly store: StoreData | undefined;
  /** Undefined where no task downloads from URLs. */
  readonly remote?: RemoteHttpOptions | undefined;
  readonly plugins: readonly (PluginHttpOptions & { readonly key: string })[];
}

/** The plugin host's archive work, which blocks its thread while it writes. */
export type ArchiveTasks = {
  readonly unpack: {
    readonly input: { readonly zip: string; readonly dir: string; readonly limits: ArchiveLimits };
    readonly output: Unpacked;
  };
  readonly zip: {
    readonly input: { readonly target: string; readonly files: readonly PackedFile[]; readonly level: number };
    readonly output: WrittenArchive;
  };
};

/** The handler service's archive work: packages of either format in, tar.gz out. */
export type PackageTasks = {
  readonly 'unpack-package': { readonly input: UnpackOrder; readonly output: readonly string[] };
  readonly 'pack-package': { readonly input: PackOrder; readonly output: number };
};

export type ThreadTasks = LaneTasks & ArchiveTasks & PackageTasks;
