// The staging area: objects are written here before they are renamed into place. File names contain the process that writes
// them, so that files of crashed processes can be recognized: {host}.{pid}.{process start}.{random}

import { createHash, randomInt, randomUUID } from 'node:crypto';
import { addAbortListener } from 'node:events';
import {
  constants,
  copyFile,
  type FileHandle,
  lstat,
  mkdir,
  open,
  opendir,
  readFile,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { NewObject, ObjectSource, PutOptions } from '../../ports/object-store.ts';
import { EarlySync } from '../../runtime/early-sync.ts';
import { codeOf, defect, rejected, transient } from '../../runtime/failure.ts';
import { giveBack } from '../../runtime/give-back.ts';
import type { Clock } from '../../runtime/time.ts';
import { etagOf, modifiedOf } from './directory-store-reader.ts';

export interface StagedObject {
  readonly file: string;
  /** The local file that was moved here. It is moved back when the put fails. */
  readonly from: string | undefined;
  readonly size: number;
  /** Etag of this file; a rename does not change it. */
  readonly etag: string;
  readonly modified: Date;
}

const WRITE_BYTES = 1024 * 1024;
/** Processes of other machines cannot be checked: after a day without a write we assume that nobody is writing. */
const FOREIGN_AGE_MS = 24 * 60 * 60 * 1000;

export class Staging {
  readonly #dir: string;
  readonly #clock: Clock;
  #writer = '';
  #puts = randomInt(999);

  constructor(dir: string, clock: Clock) {
    this.#dir = dir;
    this.#clock = clock;
  }

  async open(): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o750 });
    this.#writer = `${hostMark()}.${process.pid}.${(await startOf(process.pid)) ?? '0'}`;
  }

  async probe(): Promise<void> {
    await stat(this.#dir);
  }

  /**
   * Stages objects concurrently, because a file system syncs several files in the time of one. When one fails, all sources end
   * and nothing is left behind.
   */
  async stageAll(objects: readonly NewObject[], signal: AbortSignal): Promise<readonly StagedObject[]> {
    const staged: (StagedObject | undefined)[] = [];
    const failures: unknown[] = [];
    const stageNext = async ({ key, source, options = {} }: NewObject, i: number): Promise<void> => {
      try {
        staged[i] = await this.#stage(key, source, options, signal);
      } catch (error) {
        failures.push(error);
        endSources(objects);
      }
    };
    await Promise.all(objects.map(stageNext));
    const whole = staged.filter((object) => object !== undefined);
    if (failures.length === 0) return whole;
    for (const object of whole) await this.discard(object);
    // The others failed because their sources were ended.
    throw failures[0];
  }

  /** Writes the source to a new file and syncs it. Leaves nothing behind when it fails. */
  async #stage(key: string, source: ObjectSource, options: PutOptions, signal: AbortSignal): Promise<StagedObject> {
    const { size } = options;
    const file = join(this.#dir, `${this.#writer}.${randomUUID()}`);
    let from: string | undefined;
    try {
      const isFile = !(source instanceof Uint8Array) && 'file' in source;
      if (isFile && (await take(source.file, file))) from = source.file;
      await using handle = await open(file, isFile ? constants.O_RDWR | constants.O_NOFOLLOW : 'wx', 0o640);
      if (!isFile) await write(handle, key, source, options, signal);
      const staged = { file, from, ...(await this.#seal(handle)) };
      if (size !== undefined && staged.size !== size) throw wrongSize(key, `${staged.size} bytes`, size);
      return staged;
    } catch (error) {
      const reason = from === undefined || (await isPlain(file)) ? error : notPlain(from);
      await this.discard({ file, from });
      throw reason;
    }
  }

  /** Undoes {@link stageAll} for one object; does nothing if the file was renamed into place. */
  async discard({ file, from }: Pick<StagedObject, 'file' | 'from'>): Promise<void> {
    if (from === undefined) return rm(file, { force: true });
    try {
      await rename(file, from);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
  }

  /** Removes files whose process is dead. Returns how many. */
  async sweep(): Promise<number> {
    let swept = 0;
    for await (const { name } of await opendir(this.#dir)) {
      const file = join(this.#dir, name);
      if (!(await this.#isAbandoned(name, file))) continue;
      await rm(file, { force: true });
      swept++;
    }
    return swept;
  }

  async #isAbandoned(name: string, file: string): Promise<boolean> {
    const [host, pid, start] = name.split('.');
    if (host === hostMark() && pid && start) return !(await isAlive(Number(pid), start));
    try {
      return this.#clock.now() - (await stat(file)).mtimeMs > FOREIGN_AGE_MS;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return false;
      throw error;
    }
  }

  /**
   * Stamps and syncs the file. Two puts within one millisecond must not have the same etag, so the microseconds count up from a
   * random number. They are never 0, because file systems that store milliseconds leave 0. The time is in the middle of a
   * microsecond, because Node.js rounds nanoseconds.
   */
  async #seal(handle: FileHandle): Promise<Pick<StagedObject, 'size' | 'etag' | 'modified'>> {
    const micros = 1 + (this.#puts++ % 999);
    const seconds = (this.#clock.now() + (micros + 0.5) / 1000) / 1000;
    await handle.utimes(seconds, seconds);
    await handle.sync();
    const stats = await handle.stat({ bigint: true });
    return { size: Number(stats.size), etag: etagOf(stats), modified: modifiedOf(stats) };
  }
}

export function endSources(objects: readonly NewObject[]): void {
  for (const { source } of objects) if (source instanceof Readable) source.destroy();
}

/** Moves the file, or copies it from another file system. True if it was moved. */
async function take(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) !== 'EXDEV') throw error;
    // A copy would follow a link.
    if (!(await isPlain(from))) throw notPlain(from);
    await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    return false;
  }
}

const isPlain = async (file: string): Promise<boolean> => (await lstat(file)).isFile();

const notPlain = (file: string): Error => defect(`${file} is not a plain file`);

async function write(
  handle: FileHandle,
  key: string,
  source: Exclude<ObjectSource, { readonly file: string }>,
  { size, ownChunks }: PutOptions,
  signal: AbortSignal,
): Promise<void> {
  if (source instanceof Uint8Array) return writeFully(handle, source, 0);
  // A source that sends nothing must not block an aborted put.
  using _ = addAbortListener(signal, () => source.destroy(signal.reason));
  // One buffer is filled while the other is written.
  let buffer = Buffer.allocUnsafe(WRITE_BYTES);
  let other: typeof buffer | undefined;
  let writing = Promise.resolve();
  const early = new EarlySync(handle);
  let written = 0;
  let held = 0;
  try {
    for await (const chunk of source as AsyncIterable<Uint8Array | string>) {
      signal.throwIfAborted();
      for (let rest = typeof chunk === 'string' ? Buffer.from(chunk) : chunk; rest.length > 0; ) {
        const part = rest.subarray(0, WRITE_BYTES - held);
        buffer.set(part, held);
        held += part.length;
        rest = rest.subarray(part.length);
        if (size !== undefined && written + held > size) throw wrongSize(key, 'more', size);
        if (held < WRITE_BYTES) continue;
        await writing;
        writing = writeFully(handle, buffer, written).then(() => early.wrote(WRITE_BYTES));
        // It is awaited before the next write and at the end. After another failure, nobody wants to know.
        writing.catch(() => {});
        written += held;
        held = 0;
        [buffer, other] = [other ?? Buffer.allocUnsafe(WRITE_BYTES), buffer];
      }
      if (ownChunks && typeof chunk !== 'string') giveBack(chunk);
    }
  } catch (error) {
    if (codeOf(error) === 'ERR_STREAM_PREMATURE_CLOSE' && !signal.aborted)
      throw transient(`the source of ${key} closed before its end`, { cause: error });
    throw error;
  }
  signal.throwIfAborted();
  await writing;
  await early.end();
  await writeFully(handle, buffer.subarray(0, held), written);
}

async function writeFully(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

function wrongSize(key: string, found: string, size: number): Error {
  return rejected(`${key}: the source has ${found}, but ${size} bytes were announced`);
}

/** Process ids are only meaningful on the same machine and in the same container of a shared volume. */
function hostMark(): string {
  return createHash('sha256').update(hostname()).digest('hex').slice(0, 12);
}

async function isAlive(pid: number, start: string): Promise<boolean> {
  if (start !== '0') return (await startOf(pid)) === start;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** Start time of a process in kernel ticks, to detect reused pids. Linux only. */
async function startOf(pid: number): Promise<string | undefined> {
  try {
    const line = await readFile(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may contain anything. After it come the state and, 19 fields later, the start time.
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
