// The folders of one call: `workspace` is where its script runs, `properties` holds data properties. Gone afterwards.

import { lstat, mkdir, mkdtemp, opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileEntry } from '../../engine/model/metadata.ts';
import { decodeUtf8 } from '../../engine/model/utf8.ts';
import { removeTree } from '../../engine/runtime/files.ts';
import type { Logger } from '../../engine/runtime/log.ts';

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
    await mkdir(under, { recursive: true, mode: 0o700 });
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
  await mkdir(under, { recursive: true, mode: 0o700 });
  for await (const entry of await opendir(under))
    if (entry.name.startsWith(PREFIX))
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
  /** What is neither file nor folder. */
  readonly others: readonly { readonly name: string; readonly isLink: boolean }[];
  /** Paths that are not UTF-8, as bytes; what is below such a folder is not looked at. */
  readonly misnamed: readonly Buffer[];
}

/** Every file below the folder by relative path, sorted. A folder that is gone, or is no folder any more, holds none. */
export async function findFiles(dir: string): Promise<FoundFiles> {
  const files: FoundFile[] = [];
  const others: { name: string; isLink: boolean }[] = [];
  const misnamed: Buffer[] = [];
  const visit = async (folder: string): Promise<void> => {
    // Latin-1 keeps the bytes: as UTF-8, those that are none would come as U+FFFD, which may stand in a name as well.
    for await (const entry of await opendir(join(dir, folder), { encoding: 'latin1' as BufferEncoding })) {
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
