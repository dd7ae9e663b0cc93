// Checks free space on the disks that this process writes to. Below its floor a disk counts as full: the rest is reserved for
// what must continue, such as deletions, the log and the database.

import type { StatsFs } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { DiskRoom } from '../../ports/storage-room.ts';
import { messageOf, transient } from '../../runtime/failure.ts';
import type { Logger } from '../../runtime/log.ts';
import { type Clock, deadline } from '../../runtime/time.ts';
import { unlessAborted } from '../../runtime/wait.ts';

export interface WrittenFolder {
  /** Description for people: `the object store`. */
  readonly role: string;
  readonly folder: string;
}

export interface DiskSpace {
  readonly freeBytes: number;
  readonly sizeBytes: number;
}

/** Reads the disk of the folder. */
type ReadDisk = (folder: string) => Promise<DiskSpace>;

interface DiskFloorOptions {
  readonly folders: readonly WrittenFolder[];
  /** Percentage of the disk's size. */
  readonly floorPercent: number;
  /** Minimum of the floor. */
  readonly floorBytes: number;
  readonly clock: Clock;
  readonly log: Logger;
  /** Default: statfs. */
  readonly readDisk?: ReadDisk;
}

/** How long a reading is used. Much may be written in the meantime, but less than the reserve below the floor. */
const FRESH_MS = 1_000;
/** Deadline for a network disk that hangs; the last reading is then used. */
const READ_MS = 2_000;

export class DiskFloor implements DiskRoom {
  readonly #options: DiskFloorOptions;
  #readMs = Number.NEGATIVE_INFINITY;
  #lack: string | undefined;
  #reading: Promise<void> | undefined;

  constructor(options: DiskFloorOptions) {
    this.#options = options;
  }

  async lack(): Promise<string | undefined> {
    if (this.#options.clock.now() - this.#readMs >= FRESH_MS) {
      // Concurrent callers share one reading.
      this.#reading ??= this.#read().finally(() => {
        this.#reading = undefined;
      });
      await this.#reading;
    }
    return this.#lack;
  }

  async #read(): Promise<void> {
    const { clock, folders, log } = this.#options;
    using limit = deadline(clock, READ_MS, undefined, () => new Error('the disk does not respond'));
    let lack: string | undefined;
    for (const folder of folders) {
      try {
        lack ??= await unlessAborted(this.#lackOf(folder), limit.signal);
      } catch (err) {
        log.debug({ err, folder: folder.folder }, 'free space unknown');
        lack ??= this.#lack;
        break;
      }
    }
    this.#readMs = clock.now();
    if (lack !== undefined && this.#lack === undefined)
      log.warn({ reason: lack }, 'writes are rejected: a disk is full');
    if (lack === undefined && this.#lack !== undefined)
      log.info('writes are accepted again: the disks have free space');
    this.#lack = lack;
  }

  async #lackOf({ role, folder }: WrittenFolder): Promise<string | undefined> {
    const { floorPercent, floorBytes, readDisk = diskOf } = this.#options;
    const { freeBytes, sizeBytes } = await readDisk(folder);
    const floor = Math.max(floorBytes, Math.ceil((sizeBytes * floorPercent) / 100));
    if (freeBytes >= floor) return undefined;
    return `the disk of ${role} has ${freeBytes} bytes free; writes stop below ${floor}`;
  }
}

/** Disk of the folder, or of its nearest existing ancestor: some folders are created with their first file. */
export const diskOf: ReadDisk = async (folder) => {
  const { bavail, blocks, bsize } = await statsOf(folder);
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
};

async function statsOf(folder: string): Promise<StatsFs> {
  for (let at = folder; ; at = dirname(at)) {
    try {
      return await statfs(at);
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      if (!isMissing || at === dirname(at))
        throw transient(`free space of ${folder}: ${messageOf(error)}`, { cause: error });
    }
  }
}
