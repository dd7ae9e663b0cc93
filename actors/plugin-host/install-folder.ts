// Where a dataset's files stand for the sites, and how they change there. By default the script works in the final folder,
// and what a failed or cut-off install left there stays until `uninstall` of that dataset has run: plugins keep in it what
// their uninstall needs. With `staging` a site sees files whole or not at all, and nothing of a failed install is left:
//
//   install:    (nothing) -> .staging-{id} --script ended well--> .ready-{id} --swap--> {id}
//   swap:       {id}, if any -> deleting-{id}-{time}; .ready-{id} -> {id}; deleting-* removed
//   copy:       files of another target -> .staging-{id}, then as an install that ended well, with or without `staging`
//   uninstall:  {id} -> deleting-{id}-{time}, removed
// From before the script until after the install .owner-{id} names the plugin: hosts of several plugins may share a folder.
// After a kill a start finishes each swap (.ready-*) of its own plugins and removes the rest (install-sweep.ts).

import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatasetId } from '../../engine/model/ids.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { removeTree } from '../../engine/runtime/remove-tree.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import { copyTree } from './copy-tree.ts';
import type { HostedPlugin, HostedTarget } from './hosted-plugins.ts';
import { type InstalledModes, PRIVATE, settleFolders, settleTree } from './installed-modes.ts';

export const STAGING = '.staging-';
export const READY = '.ready-';
export const OWNER = '.owner-';

/** The folder that holds one folder per dataset. */
export function datasetsFolder(plugin: HostedPlugin, target: HostedTarget, siteBuild: string): string {
  return target.datasetFileRoot === undefined
    ? join(plugin.installRoot, siteBuild, target.id)
    : join(plugin.installRoot, target.datasetFileRoot);
}

export class InstallFolder {
  readonly #parent: string;
  readonly #dataset: DatasetId;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #modes: InstalledModes;
  readonly #ready: string;
  readonly #owner: string;
  readonly final: string;
  readonly staging: string;

  constructor(parent: string, dataset: DatasetId, clock: Clock, log: Logger, modes: InstalledModes = PRIVATE) {
    this.#parent = parent;
    this.#dataset = dataset;
    this.#clock = clock;
    this.#log = log;
    this.#modes = modes;
    this.#ready = join(parent, READY + dataset);
    this.#owner = join(parent, OWNER + dataset);
    this.final = join(parent, dataset);
    this.staging = join(parent, STAGING + dataset);
  }

  /** Makes the parent and clears what an earlier attempt may have left. The script makes its folder itself. */
  async prepare(plugin: string): Promise<void> {
    const made = await mkdir(this.#parent, { recursive: true, mode: 0o750 });
    if (made !== undefined) await settleFolders(made, this.#parent, this.#modes);
    await this.discard();
    await writeFile(this.#owner, plugin);
  }

  /** What scripts made may be read by whom it is for, and by nobody else. */
  async settle(path = this.final): Promise<void> {
    const refused = await settleTree(path, this.#modes);
    if (refused > 0)
      this.#log.warn({ dataset: this.#dataset, folder: path, count: refused }, 'modes of installed files not set');
  }

  async installed(): Promise<boolean> {
    return exists(this.final);
  }

  /** The staged tree, if the script made any, takes the place of the old one. */
  async commit(): Promise<void> {
    if (!(await exists(this.staging))) return this.remove();
    await this.settle(this.staging);
    await rename(this.staging, this.#ready);
    await this.swap();
  }

  /** Seen whole or not at all; where nothing is installed, nothing will be here. Between `prepare` and `discard`. */
  async copyFrom(source: InstallFolder, signal: AbortSignal): Promise<void> {
    if (await source.installed()) await copyTree(source.final, this.staging, signal);
    await this.commit();
  }

  /** The tree that is ready takes the place of the old one, which stays when that fails. */
  async swap(): Promise<void> {
    const condemned = await this.#condemn();
    try {
      await rename(this.#ready, this.final);
    } catch (error) {
      if (condemned !== undefined) await rename(condemned, this.final);
      throw error;
    }
    await this.#clear(condemned);
  }

  /** What is staged or ready is given up. */
  async discard(): Promise<void> {
    await removeTree(this.staging);
    await removeTree(this.#ready);
    await rm(this.#owner, { force: true });
  }

  /** Gone at once for the site, then removed; nothing there is fine. */
  async remove(): Promise<void> {
    await this.#clear(await this.#condemn());
  }

  async #condemn(): Promise<string | undefined> {
    const to = join(this.#parent, `deleting-${this.#dataset}-${new Date(this.#clock.now()).toISOString()}`);
    try {
      await rename(this.final, to);
      return to;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** For the site it is gone: what cannot be removed now, since others have files of it open, the next start removes. */
  async #clear(condemned: string | undefined): Promise<void> {
    if (condemned === undefined) return;
    await removeTree(condemned).catch((err: unknown) =>
      this.#log.warn({ err, dataset: this.#dataset, folder: condemned }, 'old files of a dataset not removed yet'),
    );
  }
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
