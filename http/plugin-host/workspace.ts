// The folders of one call: `workspace` is where its script runs, `properties` holds data properties. Gone afterwards.

import { lstat, mkdir, mkdtemp, opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../engine/log.ts';
import type { FileEntry } from '../../engine/model/metadata.ts';
import { removeTree } from '../remove-tree.ts';

const PREFIX = 'call-';

export class Workspace implements AsyncDisposable {
  readonly #root: string;
  /** Working directory of the script. */
  readonly dir: string;
  readonly propertiesDir: string;

  readonly log: Logger;

  private constructor(root: string, log: Logger) {
    this.log = log;
    this.#root = root;
    this.dir = join(root, 'workspace');
    this.propertiesDir = join(root, 'properties');
  }

  static async make(under: string, log: Logger): Promise<Workspace> {
    await mkdir(under, { recursive: true });
    const workspace = new Workspace(await mkdtemp(join(under, PREFIX)), log);
    await mkdir(workspace.dir);
    await mkdir(workspace.propertiesDir);
    return workspace;
  }

  path(...parts: readonly string[]): string {
    return join(this.dir, ...parts);
  }

  async folder(name: string): Promise<string> {
    await mkdir(this.path(name));
    return this.path(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await removeTree(this.#root);
  }
}

/** Removes the workspaces of a host that was killed; called before the first call. One that cannot be removed stays. */
export async function sweepWorkspaces(under: string, log: Logger): Promise<void> {
  await mkdir(under, { recursive: true });
  for await (const entry of await opendir(under))
    if (entry.name.startsWith(PREFIX))
      await removeTree(join(under, entry.name)).catch((err: unknown) =>
        log.warn({ err, folder: entry.name }, 'workspace of a process that was killed not removed'),
      );
}

export interface FoundFile extends FileEntry {
  /** Path on disk. */
  readonly file: string;
}

export interface FoundFiles {
  readonly files: readonly FoundFile[];
  /** What is neither file nor folder. */
  readonly others: readonly { readonly name: string; readonly isLink: boolean }[];
  /** What has a name that is not UTF-8, as far as it can be shown. */
  readonly misnamed: readonly string[];
}

/** Every file below the folder by relative path, sorted. A folder that is gone, or is no folder any more, holds none. */
export async function findFiles(dir: string): Promise<FoundFiles> {
  const files: FoundFile[] = [];
  const others: { name: string; isLink: boolean }[] = [];
  const misnamed: string[] = [];
  const visit = async (folder: string): Promise<void> => {
    for await (const entry of await opendir(join(dir, folder))) {
      const name = folder === '' ? entry.name : `${folder}/${entry.name}`;
      const file = join(dir, name);
      if (name.includes('\ufffd')) misnamed.push(name);
      else if (entry.isDirectory()) await visit(name);
      else if (entry.isFile()) files.push({ name, file, size: (await stat(file)).size });
      else others.push({ name, isLink: entry.isSymbolicLink() });
    }
  };
  if ((await lstat(dir).catch(() => undefined))?.isDirectory()) await visit('');
  return { files: files.sort((a, b) => (a.name < b.name ? -1 : 1)), others, misnamed };
}
