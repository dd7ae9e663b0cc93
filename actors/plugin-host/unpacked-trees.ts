// Folders with the files of a stored archive, kept so that the next call need not unpack it: what was packed is still there as
// files. It is a large part of what a large dataset costs.
//
//   upload lane: the received files -> (import-ready.zip)   taken as the input folder of the import
//   import call: the output folder  -> (install-ready.zip)  taken as the folder of the first install that asks
//   install call: its folder, if the script has left it alone, goes to a call for another target that waits for it
//
// Nobody shares a file: a folder belongs to one call at a time, its files have no other links, and none of them is in the store.
// A file that has changed since it was packed is noticed by its times, which scripts cannot set back. Then, and whenever anything
// else is in doubt, there is no tree, and the archive is unpacked. A crash loses nothing: trees are removed as workspaces are.

import { link, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ArchiveLimits } from '../../engine/archive/archive-limits.ts';
import type { FileEntry } from '../../engine/model/metadata.ts';
import { removeTree } from '../../engine/runtime/files.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { type Clock, deadline } from '../../engine/runtime/time.ts';
import { unlessAborted } from '../../engine/runtime/wait.ts';
import type { Archives, Unpacked } from '../tasks/archives.ts';
import type { SmallArchives } from './small-archives.ts';
import { WORKSPACE_PREFIX } from './spare-entries.ts';
import {
  bytesOf,
  holdsExactly,
  identityOf,
  isSame,
  isWorthwhile,
  setModes,
  stateOf,
  type TreeState,
} from './tree-state.ts';
import { METADATA, type Payload, type Workspace } from './workspace.ts';

/** How many trees wait for a call, and how long. */
const MOST_TREES = 4;
const KEPT_MS = 120_000;
/** A call waits for another one's folder about as long as it would take a busy disk to unpack the archive. */
const UNPACKED_BYTES_PER_MS = 100_000;

interface Tree {
  readonly archive: string;
  /** In the archive's order. */
  readonly files: readonly FileEntry[];
  readonly bytes: number;
  readonly state: TreeState;
  /** Its folder. Undefined while a call has it. */
  folder: string | undefined;
  readonly waiting: ((isBack: boolean) => void)[];
  forget: () => void;
}

/** A folder whose files are about to be packed. */
export interface PackedTree {
  readonly folder: string;
  readonly files: readonly FileEntry[];
  readonly state: TreeState;
}

export class UnpackedTrees {
  readonly #dir: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** By the identity of the archive, the oldest first. */
  readonly #trees = new Map<string, Tree>();

  /** @param dir the scratch space of workspaces */
  constructor(dir: string, clock: Clock, log: Logger) {
    this.#dir = dir;
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * Call it before the files are packed, so that later changes are noticed. Gives them the modes of unpacked files. Undefined if
   * the folder is not worth keeping, or holds anything that would not come out of an archive.
   */
  async look(folder: string, files: readonly FileEntry[]): Promise<PackedTree | undefined> {
    if (!isWorthwhile(files)) return undefined;
    try {
      // Before any mode is set: a file with other links belongs to others, too.
      if (!(await stateOf(folder))) return undefined;
      await setModes(folder);
      const state = await stateOf(folder);
      return state && holdsExactly(state, files) ? { folder, files, state } : undefined;
    } catch (err) {
      // For example, scripts that run as another user own their files.
      this.#log.debug({ err, folder }, 'a folder is not kept');
      return undefined;
    }
  }

  /** Keeps the folder for whoever unpacks the archive that was packed from it. Otherwise it stays where it is. */
  async keep(archive: string, { folder, files, state }: PackedTree): Promise<void> {
    try {
      const id = await identityOf(archive);
      if (id !== undefined) this.#add(id, files, state, await this.#moved(folder));
    } catch (err) {
      this.#logUnused(err, folder);
    }
  }

  /**
   * Links files that are in the archive as they are, and are about to be removed where they are now. Call `keep` when they have
   * been removed there: until then, they are not looked at by anybody. Undefined if they are on another file system.
   */
  async link(
    archive: string,
    files: readonly (FileEntry & { readonly file: string })[],
  ): Promise<LinkedTree | undefined> {
    const id = isWorthwhile(files) ? await identityOf(archive) : undefined;
    if (id === undefined) return undefined;
    const root = await mkdtemp(join(this.#dir, WORKSPACE_PREFIX));
    const folder = join(root, FOLDER);
    try {
      await mkdir(folder);
      for (const { name, file } of files) {
        await mkdir(dirname(join(folder, name)), { recursive: true });
        await link(file, join(folder, name));
      }
    } catch (err) {
      this.#log.debug({ err, folder }, 'a folder is not kept');
      await this.#remove(root);
      return undefined;
    }
    return {
      keep: async (): Promise<void> => {
        const tree = await this.look(folder, files);
        if (tree) this.#add(id, files, tree.state, folder);
        else await this.#remove(root);
      },
      drop: () => this.#remove(root),
    };
  }

  /**
   * Moves the tree of the archive to `to`, an empty folder. Undefined if there is none, and `to` is still empty. May wait for the
   * call that has it.
   */
  async take(archive: string, to: string, limits: ArchiveLimits, signal: AbortSignal): Promise<TakenTree | undefined> {
    if (this.#trees.size === 0) return undefined;
    // Unpacking it says what is wrong with it.
    const id = await identityOf(archive).catch(() => undefined);
    const tree = this.#trees.get(id ?? '');
    if (!tree || exceeds(tree, limits) || !(tree.folder !== undefined || (await this.#isBack(tree, signal))))
      return undefined;
    const { folder, files } = tree;
    if (folder === undefined) return undefined;
    tree.folder = undefined;
    const isUnchanged = await this.#handOver(tree, folder, to).catch((err: unknown) => {
      this.#logUnused(err, folder);
      return false;
    });
    if (isUnchanged) return { files, [Symbol.asyncDispose]: () => this.#giveBack(tree, to) };
    tree.forget();
    await this.#remove(dirname(folder));
    await removeTree(to);
    await mkdir(to);
    return undefined;
  }

  async #handOver(tree: Tree, folder: string, to: string): Promise<boolean> {
    await rename(folder, to);
    await rm(dirname(folder), { recursive: true });
    return isSame(await stateOf(to), tree.state);
  }

  /** Only if somebody waits: the archive is unpacked for those who come later. */
  async #giveBack(tree: Tree, folder: string): Promise<void> {
    try {
      if (tree.waiting.length > 0) {
        await rm(join(folder, METADATA), { force: true });
        if (isSame(await stateOf(folder), tree.state)) {
          tree.folder = await this.#moved(folder);
          tree.waiting.shift()?.(true);
          return;
        }
      }
    } catch (err) {
      this.#logUnused(err, folder);
    }
    tree.forget();
  }

  async #isBack(tree: Tree, signal: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    tree.waiting.push(resolve);
    const ms = tree.bytes / UNPACKED_BYTES_PER_MS;
    using patience = deadline(this.#clock, ms, signal, () => new Error('still in use'));
    try {
      return await unlessAborted(promise, patience.signal);
    } catch {
      signal.throwIfAborted();
      return false;
    } finally {
      const at = tree.waiting.indexOf(resolve);
      if (at !== -1) tree.waiting.splice(at, 1);
    }
  }

  #logUnused(err: unknown, folder: string): void {
    this.#log.warn({ err, folder }, 'a folder could not be kept; its archive is unpacked instead');
  }

  /** What cannot be removed, the next start removes. */
  async #remove(root: string): Promise<void> {
    await removeTree(root).catch((err: unknown) =>
      this.#log.warn({ err, folder: root }, 'a kept folder could not be removed'),
    );
  }

  async #moved(folder: string): Promise<string> {
    const root = await mkdtemp(join(this.#dir, WORKSPACE_PREFIX));
    const to = join(root, FOLDER);
    try {
      await rename(folder, to);
    } catch (error) {
      await this.#remove(root);
      throw error;
    }
    return to;
  }

  #add(archive: string, files: readonly FileEntry[], state: TreeState, folder: string): void {
    this.#trees.get(archive)?.forget();
    const cancel = this.#clock.after(KEPT_MS, () => tree.forget());
    const tree: Tree = {
      ...{ archive, files, state, folder, bytes: bytesOf(files), waiting: [] },
      forget: () => {
        cancel();
        if (this.#trees.get(archive) === tree) this.#trees.delete(archive);
        for (const answer of tree.waiting.splice(0)) answer(false);
        const left = tree.folder;
        tree.folder = undefined;
        if (left === undefined) return;
        void this.#remove(dirname(left));
      },
    };
    this.#trees.set(archive, tree);
    for (const oldest of this.#trees.values()) {
      if (this.#trees.size <= MOST_TREES) break;
      oldest.forget();
    }
  }
}

interface UnpackOrder {
  readonly payload: Payload;
  readonly workspace: Workspace;
  readonly dir: string;
  readonly limits: ArchiveLimits;
  readonly trees: UnpackedTrees;
  /** For archives that several calls unpack. */
  readonly small?: SmallArchives;
}

/** Links to files that are still elsewhere. */
export interface LinkedTree {
  readonly keep: () => Promise<void>;
  readonly drop: () => Promise<void>;
}

/** A tree in the folder of a call. Dispose of it when the call does not need it any more. */
export interface TakenTree extends AsyncDisposable {
  readonly files: readonly FileEntry[];
}

const FOLDER = 'tree';

/** No limit has been exceeded so far, but the caller's may be lower. */
function exceeds({ files, bytes }: Tree, { maxTotalBytes, maxFileBytes, maxEntries }: ArchiveLimits): boolean {
  return bytes > maxTotalBytes || files.length > maxEntries || files.some(({ size }) => size > maxFileBytes);
}

/** The files of a call's archive in `dir`, an empty folder. Dispose of it when the call does not need the folder any more. */
export async function unpackPayload(
  { payload, dir, limits, trees, small, workspace }: UnpackOrder,
  archives: Archives,
  signal: AbortSignal,
): Promise<Unpacked & AsyncDisposable> {
  const taken = payload.isStored && (await trees.take(payload.file, dir, limits, signal));
  const { file } = payload;
  const unpacked = taken
    ? { ...taken, notes: [] }
    : payload.isStored && small
      ? await small.unpack(file, { workspace, dir, limits }, signal)
      : await archives.unpack({ file, kind: 'zip', dir, limits }, signal);
  try {
    await payload.release();
  } catch (error) {
    if (taken) await taken[Symbol.asyncDispose]();
    throw error;
  }
  return { [Symbol.asyncDispose]: async () => {}, ...unpacked };
}
