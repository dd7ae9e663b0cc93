// Reads a backup to its end, and unpacks it, to places that are not the final ones.

import { constants } from 'node:fs';
import { chmod, chown, type FileHandle, lchown, mkdir, open, symlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { decodeUtf8 } from '../../../engine/model/utf8.ts';
import { codeOf, rejected } from '../../../engine/runtime/failure.ts';
import type { BackupEntry } from './backup-entry.ts';
import { type BackupEnd, type BackupHead, checkEnd, checkHead, HEAD, INSTANT } from './backup-head.ts';
import { type BackupSink, type ReadBackup, readBackup, readFirst } from './backup-reader.ts';
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

/** What the backup says at its begin. The rest is neither read nor checked. */
export async function readHead(file: string, signal: AbortSignal): Promise<BackupHead> {
  const { path, content } = await readFirst(file, MAX_OWN_BYTES, signal);
  if (path !== HEAD) throw rejected(`${file} is not a backup of Longshore`);
  return await checkHead(file, decodeUtf8(content) ?? '');
}

/** Reads the whole backup into the sink. */
export async function check(file: string, sink: Reading, signal: AbortSignal): Promise<CheckedBackup> {
  await using _ = sink;
  const read = await readBackup(file, sink, signal);
  await sink.finish();
  if (!sink.head || !sink.endText) throw rejected(`${file} is not a whole backup of Longshore`);
  return { ...read, head: sink.head, end: checkEnd(file, sink.endText) };
}

/** Reads what a backup says of itself. */
export class Reading implements BackupSink, AsyncDisposable {
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

interface Placed extends BackupEntry {
  readonly target: string;
}

export interface UnpackingPlaces {
  /** Folders that exist and are empty; everything is unpacked below them. */
  readonly roots: readonly string[];
  /** Where an entry comes. Undefined: it is only checked. */
  readonly placeOf: (path: string) => string | undefined;
}

/** Files and folders are durable when it has finished, because the old ones are given up then. */
export class Unpacking extends Reading {
  readonly #roots: readonly string[];
  readonly #placeOf: (path: string) => string | undefined;
  #handle: FileHandle | undefined;
  /** Made last, so that nothing is written through a link. Sites have few of them. */
  readonly #links: Placed[] = [];
  /** The folder that is being filled, after those that it is in. Its permissions may forbid to fill it, so they come last. */
  readonly #open: Placed[] = [];

  constructor(file: string, { roots, placeOf }: UnpackingPlaces, tell: (bytes: number) => void) {
    super(file, tell);
    this.#roots = roots;
    this.#placeOf = placeOf;
  }

  override async begin(entry: BackupEntry): Promise<void> {
    await super.begin(entry);
    const { path, type } = entry;
    const target = this.#placeOf(path);
    if (target === undefined) return;
    const parent = dirname(path);
    for (let last = this.#open.at(-1); last && last.path !== parent; last = this.#open.at(-1)) await this.#leave();
    const placed = { ...entry, target };
    if (type === 'link') this.#links.push(placed);
    else if (type === 'folder') {
      await mkdir(target, { recursive: true, mode: 0o700 });
      this.#open.push(placed);
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
    for (const { target, link = '', uid, gid } of this.#links) {
      await symlink(link, target);
      if (isRoot()) await lchown(target, uid, gid);
    }
    while (this.#open.length > 0) await this.#leave();
    // Now, because the first sync has a file system write all of it, and the others have little left to do.
    for (const root of this.#roots) {
      for await (const { source } of walk(root, () => false)) await syncPath(source);
      await syncPath(root);
    }
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle?.close();
  }

  async #leave(): Promise<void> {
    const entry = this.#open.pop();
    if (!entry) return;
    if (isRoot()) await chown(entry.target, entry.uid, entry.gid);
    await chmod(entry.target, entry.mode);
  }
}

export const isRoot = (): boolean => process.getuid?.() === 0;

/** A file or folder; a link is part of its folder. */
export async function syncPath(path: string): Promise<void> {
  try {
    await using handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    await handle.sync();
  } catch (error) {
    // A file that its owner may not read is one of a plugin, which can be installed again.
    if (codeOf(error) !== 'ELOOP' && codeOf(error) !== 'EACCES') throw error;
  }
}
