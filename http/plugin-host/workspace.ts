// The folders of one call: `workspace` is where its script runs, `properties` holds data properties. Gone afterwards.

import { mkdir, mkdtemp, opendir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileEntry } from '../../engine/model/metadata.ts';

const PREFIX = 'call-';

export class Workspace implements AsyncDisposable {
  readonly #root: string;
  /** Working directory of the script. */
  readonly dir: string;
  readonly propertiesDir: string;

  private constructor(root: string) {
    this.#root = root;
    this.dir = join(root, 'workspace');
    this.propertiesDir = join(root, 'properties');
  }

  static async make(under: string): Promise<Workspace> {
    await mkdir(under, { recursive: true });
    const workspace = new Workspace(await mkdtemp(join(under, PREFIX)));
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
    await rm(this.#root, { recursive: true, force: true });
  }
}

/** Removes the workspaces of a host that was killed; called before the first call. */
export async function sweepWorkspaces(under: string): Promise<void> {
  await mkdir(under, { recursive: true });
  for await (const entry of await opendir(under))
    if (entry.name.startsWith(PREFIX)) await rm(join(under, entry.name), { recursive: true, force: true });
}

export interface FoundFile extends FileEntry {
  /** Path on disk. */
  readonly file: string;
}

/** Every file below the folder by relative path, sorted; what is neither file nor folder is named in `others`. */
export async function findFiles(
  dir: string,
): Promise<{ readonly files: readonly FoundFile[]; readonly others: readonly string[] }> {
  const files: FoundFile[] = [];
  const others: string[] = [];
  const visit = async (folder: string): Promise<void> => {
    for await (const entry of await opendir(join(dir, folder))) {
      const name = folder === '' ? entry.name : `${folder}/${entry.name}`;
      const file = join(dir, name);
      if (entry.isDirectory()) await visit(name);
      else if (entry.isFile()) files.push({ name, file, size: (await stat(file)).size });
      else others.push(name);
    }
  };
  await visit('');
  return { files: files.sort((a, b) => (a.name < b.name ? -1 : 1)), others };
}
