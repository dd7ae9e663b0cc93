// A folder that is restored in the folder itself, which may be a mount point:
//
//   1 unpack everything into `restore-partial`, and check every digest
//   2 with --force: move what is there aside, into `before-restore-TIME`
//   3 move what was unpacked to its place; remove `restore-partial`

import { chmod, chown, mkdir, readdir, rename, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { rejected } from '../../../engine/runtime/failure.ts';
import { removeTree } from '../../../engine/runtime/files.ts';
import { RESTORING } from '../../compose/data-dir.ts';
import { BEFORE_RESTORE } from './data-dir-parts.ts';
import { isRoot, syncPath } from './unpacking.ts';

export class RestoredFolder {
  readonly path: string;
  /** What is unpacked, until it is moved in. */
  readonly partial: string;
  readonly #there: readonly string[];

  private constructor(path: string, there: readonly string[]) {
    this.path = path;
    this.partial = join(path, RESTORING);
    this.#there = there;
  }

  /** Makes the folder if it is missing, and changes nothing else. Refuses one with content unless forced. */
  static async at(path: string, force: boolean): Promise<RestoredFolder> {
    await mkdir(path, { recursive: true, mode: 0o750 });
    const there = (await readdir(path)).filter((name) => name !== RESTORING && !name.startsWith(BEFORE_RESTORE));
    if (there.length > 0 && !force)
      throw rejected(`${path} is not empty (${there.slice(0, 3).join(', ')}); --force moves its content aside`);
    return new RestoredFolder(path, there);
  }

  async begin(): Promise<void> {
    await removeTree(this.partial);
    await mkdir(this.partial, { mode: 0o700 });
  }

  async discard(): Promise<void> {
    await removeTree(this.partial).catch(() => undefined);
  }

  /** Returns where the former content is; undefined if there was none. @param time part of that folder's name */
  async moveIn(time: string): Promise<string | undefined> {
    const { path, partial } = this;
    const aside = join(path, BEFORE_RESTORE + time);
    if (this.#there.length > 0) await mkdir(aside, { mode: 0o700 });
    for (const name of this.#there) await rename(join(path, name), join(aside, name));
    for (const name of await readdir(partial)) await rename(join(partial, name), join(path, name));
    await rmdir(partial);
    await syncPath(path);
    return this.#there.length > 0 ? aside : undefined;
  }

  /** Gives the folder itself the owner and permissions that were unpacked for it. */
  async takeOver(): Promise<void> {
    const { mode, uid, gid } = await stat(this.partial);
    await chmod(this.partial, 0o700);
    if (isRoot()) await chown(this.path, uid, gid);
    await chmod(this.path, mode & 0o7777);
  }
}

/** Part of names of what is moved aside. */
export const timeName = (nowMs: number): string => new Date(nowMs).toISOString().replaceAll(/[:.]/g, '-');
