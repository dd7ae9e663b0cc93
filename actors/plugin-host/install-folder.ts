// Where a dataset's files stand for the sites, and how they change there. By default the script works in the final folder,
// and what a failed or cut-off install left there stays until `uninstall` of that dataset has run: plugins keep in it what
// their uninstall needs. With `staging` a site sees files whole or not at all, and nothing of a failed install is left:
//
//   install:    (nothing) -> .staging-{id} --script ended well--> .ready-{id} --swap--> {id}
//   swap:       {id}, if any -> deleting-{id}-{time}; .ready-{id} -> {id}; deleting-* removed
//   copy:       files of another target -> .staging-{id}, then as an install that ended well, with or without `staging`
//   uninstall:  {id} -> deleting-{id}-{time}, removed
// From before the script until after the install .owner-{id} names the plugin: hosts of several plugins may share a folder.
// After a kill a start finishes each swap (.ready-*) of its own plugins and removes the rest.

import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type DatasetId, parseDatasetId, type TargetId } from '../../engine/model/ids.ts';
import { exists, removeTree } from '../../engine/runtime/files.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import type { HostedPlugin, HostedTarget } from './hosted-plugins.ts';
import { copyTree, type InstalledModes, PRIVATE, settleFolders, settleTree } from './installed-tree.ts';

const STAGING = '.staging-';
const READY = '.ready-';
const OWNER = '.owner-';

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
      this.#log.warn(
        { dataset: this.#dataset, folder: path, count: refused },
        'modes of installed files could not be set',
      );
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

// What a kill left in a folder of datasets is finished or removed when a host starts (states: top of this file).

/** The time holds colons, which no dataset id has: a dataset of such a name is not mistaken for a leftover. */
const DELETING = /^deleting-.+-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Installations under way of plugins other than those named are left alone: another host may be at work on them. A folder
 * that is not there yet is fine; what cannot be removed is logged and stays.
 */
export async function sweepDatasets(
  parent: string,
  plugins: readonly string[],
  clock: Clock,
  log: Logger,
): Promise<void> {
  const names = await readdir(parent).catch(noEntries);
  for (const dataset of datasetsUnderWay(names)) {
    const owner = await readFile(join(parent, OWNER + dataset), 'utf8').catch(() => undefined);
    // Empty: its writer was killed before it wrote, so before its script.
    if (owner && !plugins.includes(owner)) continue;
    const folder = new InstallFolder(parent, dataset, clock, log);
    if (names.includes(READY + dataset)) {
      log.warn({ dataset, folder: parent }, 'finishing an interrupted installation');
      await folder.swap();
    }
    await folder.discard().catch((err: unknown) => log.warn({ err, dataset, folder: parent }, UNREMOVED));
  }
  for (const name of names.filter((one) => DELETING.test(one)))
    await removeTree(join(parent, name)).catch((err: unknown) =>
      log.warn({ err, folder: join(parent, name) }, UNREMOVED),
    );
}

const UNREMOVED = 'leftovers of a killed process could not be removed';

function datasetsUnderWay(names: readonly string[]): ReadonlySet<DatasetId> {
  const ids = names.flatMap((name) => {
    const prefix = [READY, STAGING, OWNER].find((one) => name.startsWith(one));
    const id = prefix === undefined ? undefined : parseDatasetId(name.slice(prefix.length));
    return id === undefined ? [] : [id];
  });
  return new Set(ids);
}

function noEntries(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return [];
  throw error;
}

// Says of one dataset on one target that nothing of it is installed there: it was uninstalled, or install-data was asked for
// and its script has not begun. Many plugins read in DATA_FILES what their uninstall has to remove, and fail when it is not
// there. That is no failure when there is nothing to remove: when the answer to an uninstall was lost in a kill, and when an
// install was cut off or refused before its script. Of targets that share a data schema, a mark for all of them says that
// no rows are there: the uninstall of one has removed those of all, and the uninstall of another has nothing to do. Kept on the
// host's own disk, where a start finds it again.

/** Long after whoever asked for the uninstall has stopped asking again. */
const KEPT_MS = 90 * 24 * 3600 * 1000;

export class ClearMark {
  readonly #file: string;

  private constructor(dir: string, place: string, dataset: DatasetId) {
    this.#file = join(dir, place, dataset);
  }

  static ofTarget(dir: string, target: TargetId, dataset: DatasetId): ClearMark {
    return new ClearMark(dir, target, dataset);
  }

  /** The name is made of what no target id can be. */
  static ofDataSchema(dir: string, dataSchema: string, dataset: DatasetId): ClearMark {
    const name = createHash('sha256').update(dataSchema).digest('hex');
    return new ClearMark(dir, `.schema-${name}`, dataset);
  }

  async isSet(): Promise<boolean> {
    return exists(this.#file);
  }

  async set(): Promise<void> {
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    await writeFile(this.#file, '');
  }

  /** Before a script begins to install. */
  async remove(): Promise<void> {
    await rm(this.#file, { force: true });
  }
}

/** Forgets old marks, so that they do not pile up. */
export async function sweepClearMarks(dir: string, clock: Clock): Promise<void> {
  for (const name of await readdir(dir, { recursive: true }).catch(() => [])) {
    const file = join(dir, name);
    const made = await stat(file).catch(() => undefined);
    if (made?.isFile() && made.mtimeMs < clock.now() - KEPT_MS) await rm(file, { force: true });
  }
}
