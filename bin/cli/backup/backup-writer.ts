// Writes a backup: a tar in a file beside the target, synced and renamed at the end. Its last entry is the manifest, one line of
// JSON for each entry before it. Dispose of the writer: unless it was finished, nothing is left.

import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { constants, createReadStream, createWriteStream } from 'node:fs';
import { type FileHandle, lstat, open, readlink, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { padding, RECORD_BYTES } from '../../../engine/archive/tar-entries.ts';
import { codeOf, messageOf, rejected, transient } from '../../../engine/runtime/failure.ts';
import { exists } from '../../../engine/runtime/files.ts';
import { type BackupEntry, entryOf, headerOf, madeEntry, manifestLine } from './backup-entry.ts';

export const MANIFEST = 'longshore-manifest.jsonl';
const CHUNK_BYTES = 256 * 1024;
const LINES_BYTES = 64 * 1024;
/** Most of what is stored is compressed already. */
const GZIP_LEVEL = 1;

interface Body {
  readonly chunks: AsyncIterable<Uint8Array>;
}

export class BackupWriter implements AsyncDisposable {
  readonly #target: string;
  readonly #signal: AbortSignal;
  readonly #out = new PassThrough();
  /** Settles when the file is written, or cannot be. */
  readonly #written: Promise<void>;
  readonly #lines: FileHandle;
  #pending = '';
  #linesBytes = 0;
  #finished = false;
  /** Of files, before compression. */
  bytes = 0;
  files = 0;

  private constructor(target: string, lines: FileHandle, signal: AbortSignal) {
    this.#target = target;
    this.#lines = lines;
    this.#signal = signal;
    const zip = /\.(tgz|gz)$/i.test(target) ? [createGzip({ level: GZIP_LEVEL })] : [];
    const file = createWriteStream(partialOf(target), { mode: 0o600, flush: true });
    this.#written = pipeline([this.#out, ...zip, file], { signal });
    // Whoever writes next, or finishes, is told.
    this.#written.catch(() => undefined);
  }

  /** Refuses to replace a file. One backup to the same target at a time. */
  static async open(target: string, signal: AbortSignal): Promise<BackupWriter> {
    await demandAbsent(target);
    // Left by one that was killed.
    await rm(partialOf(target), { force: true });
    const manifest = `${target}.manifest`;
    await rm(manifest, { force: true });
    try {
      const lines = await open(manifest, 'wx+', 0o600);
      await rm(manifest);
      return new BackupWriter(target, lines, signal);
    } catch (error) {
      throw writeFault(target, error);
    }
  }

  /** A file, folder or link of the disk. False if it is gone. */
  async addPath(path: string, source: string): Promise<boolean> {
    try {
      const stats = await lstat(source, { bigint: true });
      const entry = entryOf(path, stats, stats.isSymbolicLink() ? await readlink(source) : undefined);
      if (!entry) return true;
      if (entry.type !== 'file') await this.#add(entry);
      else await this.#addFile(path, source);
      return true;
    } catch (error) {
      // A name that is not UTF-8 is not found by what it was read as.
      if (codeOf(error) !== 'ENOENT' || source.includes('\uFFFD')) throw error;
      return false;
    }
  }

  /** @param owner default: this process's account */
  async addContent(
    path: string,
    content: string | Uint8Array,
    nowMs: number,
    owner?: Pick<BackupEntry, 'uid' | 'gid'>,
  ): Promise<void> {
    const bytes = Buffer.from(content);
    const entry = { ...madeEntry(path, bytes.length, nowMs), ...(owner && { uid: owner.uid, gid: owner.gid }) };
    await this.#add(entry, { chunks: piece(bytes) });
  }

  /** Writes the manifest, syncs the file, and gives it its name. */
  async finish(nowMs: number): Promise<void> {
    await this.#writeLines();
    const chunks = createReadStream('', { fd: this.#lines.fd, start: 0, autoClose: false });
    await this.#write(headerOf(madeEntry(MANIFEST, this.#linesBytes, nowMs)));
    for await (const chunk of chunks) await this.#write(chunk as Buffer);
    await this.#write(Buffer.alloc(padding(this.#linesBytes) + 2 * RECORD_BYTES));
    this.#out.end();
    try {
      await this.#written;
      await demandAbsent(this.#target);
      await rename(partialOf(this.#target), this.#target);
      this.#finished = true;
      await using folder = await open(dirname(resolve(this.#target)));
      await folder.sync();
    } catch (error) {
      throw writeFault(this.#target, error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#out.destroy();
    await this.#written.catch(() => undefined);
    await this.#lines.close();
    if (!this.#finished) await rm(partialOf(this.#target), { force: true });
  }

  async #addFile(path: string, source: string): Promise<void> {
    await using handle = await open(source, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    // It may have been replaced since it was looked at.
    const entry = entryOf(path, await handle.stat({ bigint: true }));
    if (entry?.type === 'file') await this.#add(entry, { chunks: exactly(handle, entry.size) });
  }

  async #add(entry: BackupEntry, body?: Body): Promise<void> {
    await this.#write(headerOf(entry));
    let hash: Hash | undefined;
    if (body) {
      hash = createHash('sha256');
      for await (const chunk of body.chunks) {
        hash.update(chunk);
        this.bytes += chunk.length;
        await this.#write(chunk);
      }
      await this.#write(Buffer.alloc(padding(entry.size)));
      this.files++;
    }
    this.#pending += manifestLine(entry, hash?.digest('hex'));
    if (this.#pending.length >= LINES_BYTES) await this.#writeLines();
  }

  async #writeLines(): Promise<void> {
    const bytes = Buffer.from(this.#pending);
    this.#pending = '';
    try {
      await this.#lines.writeFile(bytes);
    } catch (error) {
      throw writeFault(this.#target, error);
    }
    this.#linesBytes += bytes.length;
  }

  /** The stream may keep the chunk, so it must not be reused. */
  async #write(chunk: Uint8Array): Promise<void> {
    this.#signal.throwIfAborted();
    if (chunk.length === 0) return;
    // After a failure the stream is destroyed; what it failed with is said by `#written`.
    if (!this.#out.destroyed && this.#out.write(chunk)) return;
    const drained = this.#out.destroyed ? this.#written : once(this.#out, 'drain');
    await Promise.race([drained, this.#written]).catch(async (error: unknown) => {
      throw writeFault(
        this.#target,
        await this.#written.then(
          () => error,
          (cause: unknown) => cause,
        ),
      );
    });
  }
}

const partialOf = (target: string): string => `${target}.partial`;

async function demandAbsent(target: string): Promise<void> {
  if (await exists(target)) throw rejected(`${target} exists already; a backup never replaces a file`);
}

const writeFault = (target: string, error: unknown): unknown =>
  error instanceof Error && 'syscall' in error
    ? transient(`${target} cannot be written: ${messageOf(error)}`, { cause: error })
    : error;

async function* piece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** So many bytes, although the file may change: a longer one is cut off, a shorter one is filled up with zeros. */
async function* exactly(handle: FileHandle, size: number): AsyncGenerator<Uint8Array> {
  for (let left = size; left > 0; ) {
    const chunk = Buffer.alloc(Math.min(left, CHUNK_BYTES));
    const { bytesRead } = await handle.read(chunk, 0, chunk.length);
    left -= bytesRead === 0 ? chunk.length : bytesRead;
    yield bytesRead === 0 ? chunk : chunk.subarray(0, bytesRead);
  }
}
