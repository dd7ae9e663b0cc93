// Where a dataset's files are for the sites, and how they change there. By default the script works in the final folder. What a
// failed or interrupted install leaves there stays until `uninstall` of that dataset has run, because plugins keep in it what
// their uninstall needs. With `staging`, a site sees either all files or none, and nothing of a failed install is left:
//
//   install:    (nothing) -> .staging-{id} --script succeeded--> .ready-{id} --swap--> {id}
//   swap:       {id}, if any -> deleting-{id}-{time}; .ready-{id} -> {id}; deleting-* removed
//   copy:       files of another target -> .staging-{id}, then like an install that succeeded, with or without `staging`
//   uninstall:  {id} -> deleting-{id}-{time}, removed
// While something is staged or ready, .owner-{id} names the plugin, because hosts of several plugins may share a folder. It is
// created first and removed last: without it, no attempt has left anything. After a crash, the next start finishes each swap
// (.ready-*) of its own plugins and removes the rest.

import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type DatasetId, parseDatasetId, type TargetId } from '../../engine/model/ids.ts';
import { codeOf } from '../../engine/runtime/failure.ts';
import { exists, removeFile, removeTree } from '../../engine/runtime/files.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import type { Clock } from '../../engine/runtime/time.ts';
import type { HostedPlugin, HostedTarget } from './hosted-plugins.ts';
import { copyTree, type InstalledModes, PRIVATE, settleFolders, settleTree } from './installed-tree.ts';
import type { SpareEntries } from './spare-entries.ts';

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

  /** The script creates its own folder in it. */
  async makeParent(): Promise<void> {
    const made = await mkdir(this.#parent, { recursive: true, mode: 0o750 });
    if (made !== undefined) await settleFolders(made, this.#parent, this.#modes);
  }

  /** Before anything is staged: creates the parent folder, and removes what an earlier attempt may have left. */
  async prepare(plugin: string): Promise<void> {
    try {
      await writeFile(this.#owner, plugin, { flag: 'wx' });
      return;
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'EEXIST') throw error;
    }
    await this.makeParent();
    await this.discard();
    await writeFile(this.#owner, plugin);
  }

  /** Sets the modes of files that scripts have written, so that only the intended accounts can read them. */
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

  /** Replaces the old tree by the staged one, if the script created one. */
  async commit(): Promise<void> {
    if (!(await exists(this.staging))) return this.remove();
    await this.settle(this.staging);
    await rename(this.staging, this.#ready);
    await this.swap();
  }

  /**
   * All files or none become visible. If nothing is installed at the source, nothing will be here. Between `prepare` and
   * `discard`.
   */
  async copyFrom(source: InstallFolder, signal: AbortSignal): Promise<void> {
    if (await source.installed()) await copyTree(source.final, this.staging, signal);
    await this.commit();
  }

  /** Replaces the old tree by the one that is ready. The old one stays if that fails. */
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

  /** Removes what is staged or ready. */
  async discard(): Promise<void> {
    await removeTree(this.staging);
    await removeTree(this.#ready);
    await removeFile(this.#owner);
  }

  /** Hides the files from the site at once, then removes them. Does nothing if there are none. */
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

  /** The site no longer sees it. What cannot be removed now, for example on a network disk, the next start removes. */
  async #clear(condemned: string | undefined): Promise<void> {
    if (condemned === undefined) return;
    await removeTree(condemned).catch((err: unknown) =>
      this.#log.warn({ err, dataset: this.#dataset, folder: condemned }, 'old files of a dataset not removed yet'),
    );
  }
}

// When a host starts, it finishes or removes what a crash left in a folder of datasets (states: top of this file).

/** The time contains colons, which no dataset id does, so no dataset is mistaken for a leftover. */
const DELETING = /^deleting-.+-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Leaves installations of other plugins alone, because another host may be working on them. A folder that does not exist yet is
 * fine. What cannot be removed is logged and stays.
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
    // Empty: its process was killed before it wrote the name, so before the script ran.
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

// A mark says that nothing of a dataset is installed on a target: it was uninstalled, or an install was requested and its
// script has not begun. The uninstall of many plugins reads in DATA_FILES what it has to remove, and fails without it. If there
// is nothing to remove, that is no failure: when the reply to an uninstall was lost in a crash, or when an install was
// interrupted or refused before its script ran. For targets that share a data schema, a second mark, for all of them, says that
// there are no rows: the uninstall of one target has removed the rows of all, so the uninstall of another has nothing to do.
// Marks are on the host's own disk, where it finds them after a restart.

/** Long after the last retry of any uninstall. */
const KEPT_MS = 90 * 24 * 3600 * 1000;

export class ClearMark {
  readonly #file: string;
  readonly #spares: SpareEntries;

  private constructor(file: string, spares: SpareEntries) {
    this.#file = file;
    this.#spares = spares;
  }

  static ofTarget(dir: string, target: TargetId, dataset: DatasetId, spares: SpareEntries): ClearMark {
    return new ClearMark(join(dir, target, dataset), spares);
  }

  /** The name cannot be a target id. */
  static ofDataSchema(dir: string, dataSchema: string, dataset: DatasetId, spares: SpareEntries): ClearMark {
    const name = createHash('sha256').update(dataSchema).digest('hex');
    return new ClearMark(join(dir, `.schema-${name}`, dataset), spares);
  }

  async isSet(): Promise<boolean> {
    return exists(this.#file);
  }

  async set(): Promise<void> {
    try {
      await this.#spares.mark(this.#file);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
      await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
      await this.#spares.mark(this.#file);
    }
  }

  /** Called before a script begins to install. */
  async remove(): Promise<void> {
    await this.#spares.unmark(this.#file);
  }
}

/** Removes old marks, so that they do not accumulate. */
export async function sweepClearMarks(dir: string, clock: Clock): Promise<void> {
  for (const name of await readdir(dir, { recursive: true }).catch(() => [])) {
    const file = join(dir, name);
    const made = await stat(file).catch(() => undefined);
    if (made?.isFile() && made.mtimeMs < clock.now() - KEPT_MS) await removeFile(file);
  }
}
