// Restores a data directory, in the directory itself, which may be a mount point:
//
//   1 unpack everything into `restore-partial`, and check every digest
//   2 with --force: move what is there aside, into `before-restore-TIME`
//   3 move what was unpacked to its place; remove `restore-partial`
// While `restore-partial` is there, `longshore up` does not start: the directory may be incomplete. The next restore replaces it.

import { constants } from 'node:fs';
import {
  chmod,
  chown,
  type FileHandle,
  lchown,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rmdir,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { decodeUtf8 } from '../../../engine/model/utf8.ts';
import { codeOf, hasNoRoom, messageOf, rejected, transient } from '../../../engine/runtime/failure.ts';
import { removeTree } from '../../../engine/runtime/files.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { type DataDir, RESTORING } from '../../compose/data-dir.ts';
import type { BackupEntry } from './backup-entry.ts';
import { type BackupEnd, type BackupHead, checkHead, endOf, HEAD, INSTANT } from './backup-head.ts';
import { type BackupSink, type ReadBackup, readBackup } from './backup-reader.ts';
import { BEFORE_RESTORE } from './data-dir-parts.ts';
import { walk } from './folder-walk.ts';

export interface CheckedBackup extends ReadBackup {
  readonly head: BackupHead;
  readonly end: BackupEnd;
}

/** Reads all of it, and writes nothing. */
export const verifyBackup = (
  file: string,
  tell: (bytes: number) => void,
  signal: AbortSignal,
): Promise<CheckedBackup> => check(file, new Reading(file, tell), signal);

export interface Restored extends CheckedBackup {
  /** Where the former content of the directory is; undefined if there was none. */
  readonly movedAside: string | undefined;
}

/** The caller sees to it that nothing runs on the directory. */
export async function restoreDataDir(
  {
    file,
    dir,
    force,
    clock,
    tell,
  }: {
    readonly file: string;
    readonly dir: DataDir;
    readonly force: boolean;
    readonly clock: Clock;
    readonly tell: (bytes: number) => void;
  },
  signal: AbortSignal,
): Promise<Restored> {
  const partial = join(dir.path, RESTORING);
  const there = (await readdir(dir.path)).filter((name) => name !== RESTORING && !name.startsWith(BEFORE_RESTORE));
  if (there.length > 0 && !force)
    throw rejected(`${dir.path} is not empty (${there.slice(0, 3).join(', ')}); --force moves its content aside`);
  let checked: CheckedBackup;
  try {
    await removeTree(partial);
    await mkdir(partial, { mode: 0o700 });
    checked = await check(file, new Unpacking(file, partial, tell), signal);
  } catch (error) {
    // Nothing has been changed yet.
    await removeTree(partial).catch(() => undefined);
    throw hasNoRoom(error) ? transient(`${dir.path}: ${messageOf(error)}`, { cause: error }) : error;
  }
  await moveConfiguration(partial, checked.head.dataDirectory, dir.path);
  const aside = join(dir.path, BEFORE_RESTORE + new Date(clock.now()).toISOString().replaceAll(/[:.]/g, '-'));
  if (there.length > 0) await mkdir(aside, { mode: 0o700 });
  for (const name of there) await rename(join(dir.path, name), join(aside, name));
  for (const name of await readdir(partial)) await rename(join(partial, name), join(dir.path, name));
  await rmdir(partial);
  await syncPath(dir.path);
  return { ...checked, movedAside: there.length > 0 ? aside : undefined };
}

async function check(file: string, sink: Reading, signal: AbortSignal): Promise<CheckedBackup> {
  await using _ = sink;
  const read = await readBackup(file, sink, signal);
  await sink.finish();
  if (!sink.head || !sink.endText) throw rejected(`${file} is not a whole backup of Longshore`);
  return { ...read, head: sink.head, end: endOf(sink.endText) };
}

/** Reads what a backup says of itself. */
class Reading implements BackupSink, AsyncDisposable {
  head: BackupHead | undefined;
  endText: string | undefined;
  readonly #file: string;
  readonly #tell: (bytes: number) => void;
  #text: Buffer[] | undefined;
  #bytes = 0;

  constructor(file: string, tell: (bytes: number) => void) {
    this.#file = file;
    this.#tell = tell;
  }

  async begin({ path, size }: BackupEntry): Promise<void> {
    const isOwn = path === HEAD || path === INSTANT;
    // Before anything else is unpacked.
    if (!this.head && path !== HEAD) throw rejected(`${this.#file} is not a backup of Longshore`);
    if (isOwn && size > MAX_OWN_BYTES) throw rejected(`${this.#file} is damaged: ${path} has ${size} bytes`);
    this.#text = isOwn ? [] : undefined;
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#text?.push(Buffer.from(chunk));
    this.#bytes += chunk.length;
    this.#tell(this.#bytes);
  }

  async end({ path }: BackupEntry): Promise<void> {
    if (!this.#text) return;
    const text = decodeUtf8(Buffer.concat(this.#text)) ?? '';
    if (path === HEAD) this.head = await checkHead(this.#file, text);
    else this.endText = text;
  }

  async finish(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {}
}

const MAX_OWN_BYTES = 1024 * 1024;

/** Files and folders are durable when it has finished, because the old ones are given up then. */
class Unpacking extends Reading {
  readonly #folder: string;
  #handle: FileHandle | undefined;
  /** Made last, so that nothing is written through a link. Sites have few of them. */
  readonly #links: BackupEntry[] = [];
  /** The folder that is being filled, after those that it is in. Its permissions may forbid to fill it, so they come last. */
  readonly #open: BackupEntry[] = [];

  constructor(file: string, folder: string, tell: (bytes: number) => void) {
    super(file, tell);
    this.#folder = folder;
  }

  override async begin(entry: BackupEntry): Promise<void> {
    await super.begin(entry);
    const { path, type } = entry;
    if (path === HEAD || path === INSTANT) return;
    const parent = dirname(path);
    for (let last = this.#open.at(-1); last && last.path !== parent; last = this.#open.at(-1)) await this.#leave();
    const target = join(this.#folder, path);
    if (type === 'link') this.#links.push(entry);
    else if (type === 'folder') {
      await mkdir(target, { recursive: true, mode: 0o700 });
      this.#open.push(entry);
    } else {
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      this.#handle = await open(target, 'wx', 0o600);
    }
  }

  override async write(chunk: Uint8Array): Promise<void> {
    await super.write(chunk);
    await this.#handle?.writeFile(chunk);
  }

  override async end(entry: BackupEntry): Promise<void> {
    await super.end(entry);
    if (!this.#handle) return;
    await using handle = this.#handle;
    this.#handle = undefined;
    if (isRoot()) await handle.chown(entry.uid, entry.gid);
    await handle.chmod(entry.mode);
    // In the middle of the microsecond: a number of seconds has no room for nanoseconds.
    const seconds = (entry.modifiedMicros + 0.5) / 1e6;
    await handle.utimes(seconds, seconds);
  }

  override async finish(): Promise<void> {
    for (const { path, link = '', uid, gid } of this.#links) {
      const target = join(this.#folder, path);
      await symlink(link, target);
      if (isRoot()) await lchown(target, uid, gid);
    }
    while (this.#open.length > 0) await this.#leave();
    // Now, because the first sync has a file system write all of it, and the others have little left to do.
    for await (const { source } of walk(this.#folder, () => false)) await syncPath(source);
    await syncPath(this.#folder);
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle?.close();
  }

  async #leave(): Promise<void> {
    const entry = this.#open.pop();
    if (!entry) return;
    const path = join(this.#folder, entry.path);
    if (isRoot()) await chown(path, entry.uid, entry.gid);
    await chmod(path, entry.mode);
  }
}

const isRoot = (): boolean => process.getuid?.() === 0;

/** A file or folder; a link is part of its folder. */
async function syncPath(path: string): Promise<void> {
  try {
    await using handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    await handle.sync();
  } catch (error) {
    // A file that its owner may not read is one of a plugin, which can be installed again.
    if (codeOf(error) !== 'ELOOP' && codeOf(error) !== 'EACCES') throw error;
  }
}

/** The configuration names paths below the data directory. If that is another one now, so do they. */
async function moveConfiguration(partial: string, from: string, to: string): Promise<void> {
  if (from === to) return;
  const file = join(partial, 'config.yaml');
  let text = decodeUtf8(await readFile(file));
  if (text === undefined)
    throw rejected(`${file} is not UTF-8: the paths in it cannot be changed to those below ${to}`);
  for (const [before, after] of [
    [from, to],
    [encodeURI(from), encodeURI(to)],
  ] as const)
    text = text.replaceAll(new RegExp(`${RegExp.escape(before)}(?=[/\\s"'}]|$)`, 'gm'), () => after);
  await writeFile(file, text);
}
