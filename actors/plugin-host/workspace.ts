// The folder of one call, in which its script runs. Afterwards it is emptied for another call (spare-entries.ts), or removed. Some
// calls need the folder `properties` in it, which holds the data properties.

import { lstat, mkdir, opendir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileEntry } from '../../engine/model/metadata.ts';
import { decodeUtf8 } from '../../engine/model/utf8.ts';
import { removeTree } from '../../engine/runtime/files.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { ROOT_MODE, type SpareEntries, type SpareEntry, WORKSPACE_PREFIX } from './spare-entries.ts';

/** The dataset's metadata, beside its files. */
export const METADATA = 'vdi-meta.json';

/** The archive that a call brings. */
export interface Payload {
  /** Path of a zip. */
  readonly file: string;
  /** It is an object of the store: what is kept of it now can be found again (unpacked-trees.ts). */
  readonly isStored?: true;
  /** Called when it is unpacked. */
  readonly release: () => Promise<void> | void;
}

export class Workspace implements AsyncDisposable {
  readonly #spares: SpareEntries;
  readonly #root: SpareEntry;
  #inside: readonly SpareEntry[] = [];
  #properties: Promise<string> | undefined;
  #isSpoilt = false;
  readonly log: Logger;

  private constructor(root: SpareEntry, spares: SpareEntries, log: Logger) {
    this.#spares = spares;
    this.#root = root;
    this.log = log;
  }

  static async make(spares: SpareEntries, log: Logger): Promise<Workspace> {
    return new Workspace(await spares.root(), spares, log);
  }

  /** Working directory of the script. */
  get dir(): string {
    return this.#root.path;
  }

  path(...parts: readonly string[]): string {
    return join(this.dir, ...parts);
  }

  async folder(name: string): Promise<string> {
    const folder = await this.#spares.folder(this.path(name));
    this.#inside = [...this.#inside, folder];
    return folder.path;
  }

  /** The folder of the data properties. The first call creates it. */
  properties(): Promise<string> {
    this.#properties ??= this.folder('properties');
    return this.#properties;
  }

  /** Writes the metadata for a script. */
  async metadata(folder: string, text: string): Promise<string> {
    const file = await this.#spares.file(join(folder, METADATA), text);
    this.#inside = [...this.#inside, file];
    return file.path;
  }

  /** Writes a file as unpacking would. */
  async data(path: string, content: Uint8Array): Promise<void> {
    const file = await this.#spares.data(path, content);
    this.#inside = [...this.#inside, file];
  }

  /** Removes a folder before the call ends. */
  async remove(name: string): Promise<void> {
    const path = this.path(name);
    const folder = this.#inside.find((entry) => entry.path === path);
    if (!folder) return;
    const content = this.#inside.filter((entry) => entry.path.startsWith(`${path}/`));
    this.#inside = this.#inside.filter((entry) => entry !== folder && !content.includes(entry));
    await this.#spares.takeBack([folder, ...content]);
  }

  /** No other call gets anything of it: a script has failed, and a process that it started may still be there. */
  spoil(): void {
    this.#isSpoilt = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isSpoilt) await removeTree(this.dir);
    else await this.#spares.takeBack([this.#root, ...this.#inside]);
  }
}

/** Removes the workspaces of a host that was killed. Called before the first call. A workspace that cannot be removed stays. */
export async function sweepWorkspaces(under: string, log: Logger): Promise<void> {
  await mkdir(under, { recursive: true, mode: ROOT_MODE });
  for await (const entry of await opendir(under))
    if (entry.name.startsWith(WORKSPACE_PREFIX))
      await removeTree(join(under, entry.name)).catch((err: unknown) =>
        log.warn({ err, folder: entry.name }, 'the workspace of a killed process could not be removed'),
      );
}

export interface FoundFile extends FileEntry {
  /** Path on disk. */
  readonly file: string;
}

export interface FoundFiles {
  readonly files: readonly FoundFile[];
  /** Everything that is neither a file nor a folder. */
  readonly others: readonly { readonly name: string; readonly isLink: boolean }[];
  /** Paths that are not UTF-8, as bytes. Folders with such names are not searched. */
  readonly misnamed: readonly Buffer[];
}

/** Every file below the folder by relative path, sorted. None if the folder is gone, or has been replaced by something else. */
export async function findFiles(dir: string): Promise<FoundFiles> {
  const files: FoundFile[] = [];
  const others: { name: string; isLink: boolean }[] = [];
  const misnamed: Buffer[] = [];
  const visit = async (folder: string): Promise<void> => {
    // Latin-1 keeps the bytes. Decoded as UTF-8, invalid bytes would become U+FFFD, which valid names may contain too.
    for (const entry of await readdir(join(dir, folder), { encoding: 'latin1', withFileTypes: true })) {
      const bytes = Buffer.from(entry.name, 'latin1');
      const text = decodeUtf8(bytes);
      const parent = folder === '' ? '' : `${folder}/`;
      if (text === undefined) {
        misnamed.push(Buffer.concat([Buffer.from(parent), bytes]));
        continue;
      }
      const name = parent + text;
      const file = join(dir, name);
      if (entry.isDirectory()) await visit(name);
      else if (entry.isFile()) files.push({ name, file, size: (await stat(file)).size });
      else others.push({ name, isLink: entry.isSymbolicLink() });
    }
  };
  if ((await lstat(dir).catch(() => undefined))?.isDirectory()) await visit('');
  return { files: files.sort((a, b) => (a.name < b.name ? -1 : 1)), others, misnamed };
}
