// What both archive readers yield and both writers accept.

import { open } from 'node:fs/promises';
import type { ArchiveDigests } from '../model/digest.ts';
import { leftOutNote } from '../model/file-name.ts';
import type { ArchiveLimits } from './archive-limits.ts';

/** A file inside an archive as a reader yields it. */
export interface ArchiveEntry {
  /** Relative, `/` between folders, checked by entry-path.ts. */
  readonly path: string;
  /** Bytes before compression. The body fails unless it has exactly this many. */
  readonly size: number;
  /**
   * Read it once and completely before requesting the next entry, or not at all. A chunk is valid until the next one is
   * requested: its memory is reused.
   */
  readonly body: AsyncIterable<Uint8Array>;
}

/** A file to be written into an archive. */
export interface ArchiveSource {
  readonly path: string;
  /** Bytes of the body. The archive fails when the body has more or fewer. */
  readonly size: number;
  /** A writer is done with a chunk when it requests the next one. A local file is opened only when it is written. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array> | LocalFile;
  /** Absent = 1980-01-01, so that equal content makes equal archives. */
  readonly modified?: Date;
}

/** A file on disk, by its path. */
export interface LocalFile {
  readonly file: string;
}

/** A local file and its path in the archive. Plain data, so that it can be passed to a thread that writes the archive. */
export interface PackedFile {
  readonly path: string;
  /** Its path on disk. */
  readonly file: string;
  readonly size: number;
}

export interface WrittenArchive {
  /** Bytes of the archive file. */
  readonly bytes: number;
  readonly entries: number;
  /** Only if they were asked for. */
  readonly digests?: ArchiveDigests;
}

export interface ReadOptions {
  readonly limits: ArchiveLimits;
  /**
   * Called for every file; throws a failure to refuse the archive. For a zip it sees all files before the first body is read,
   * for a tar.gz each file before its own body.
   */
  readonly inspect?: (entry: Pick<ArchiveEntry, 'path' | 'size'>) => void;
  /** Is told what was left out, or was read differently from how it is written. */
  readonly notes?: ArchiveNotes | undefined;
}

// The format of a file, by its first bytes or by its name.

export type ArchiveKind = 'zip' | 'empty zip' | 'split zip' | 'gzip';

/** How many bytes {@link detectArchive} needs. */
export const MAGIC_BYTES = 4;

/** By magic bytes; undefined for any other content, whatever the name. */
export function detectArchive(start: Uint8Array): ArchiveKind | undefined {
  const [first, second, third, fourth] = start;
  if (first === 0x1f && second === 0x8b) return 'gzip';
  if (first !== 0x50 || second !== 0x4b) return undefined;
  if (third === 3 && fourth === 4) return 'zip';
  if (third === 5 && fourth === 6) return 'empty zip';
  if (third === 7 && fourth === 8) return 'split zip';
  return undefined;
}

export async function detectArchiveFile(file: string): Promise<ArchiveKind | undefined> {
  await using handle = await open(file, 'r');
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(MAGIC_BYTES), 0, MAGIC_BYTES, 0);
  return detectArchive(buffer.subarray(0, bytesRead));
}

/** The archive format by a file's name (`.zip`, `.tar.gz`, `.tgz`, in any case). */
export function archiveByName(name: string): 'zip' | 'tar.gz' | undefined {
  const lower = name.toLowerCase();
  if (lower.endsWith('.zip')) return 'zip';
  return lower.endsWith('.tar.gz') || lower.endsWith('.tgz') ? 'tar.gz' : undefined;
}

// What a reader did with an archive that its owner should know although nothing is wrong. Bounded, whatever the number of
// entries.

const MOST_KEPT = 6;

export class ArchiveNotes {
  readonly #leftOut = new Named();
  readonly #converted = new Named();
  readonly #folders = new Named();

  /** A desktop's own file. */
  leftOut(path: string): void {
    this.#leftOut.add(path);
  }

  /** A name that was read as code page 437. */
  converted(path: string): void {
    this.#converted.add(path);
  }

  /** A name with backslashes, as it was written. */
  backslashes(raw: string): void {
    this.#folders.add(raw);
  }

  /** One sentence each, for the owner. */
  lines(): readonly string[] {
    const { names, more } = this.#converted;
    return [
      leftOutNote(this.#leftOut.names, this.#leftOut.more),
      names.length === 0
        ? undefined
        : `names that are not UTF-8 were read in code page 437: ${listed(names, more)}; if they look wrong, pack again with names in UTF-8`,
      this.#folders.names.length === 0
        ? undefined
        : `backslashes in names were read as folders: ${listed(this.#folders.names, this.#folders.more)}`,
    ].filter((line) => line !== undefined);
  }
}

/** The first few names, and how many more there were. */
class Named {
  readonly #kept = new Set<string>();
  more = 0;

  get names(): readonly string[] {
    return [...this.#kept];
  }

  add(name: string): void {
    if (this.#kept.size < MOST_KEPT) this.#kept.add(name);
    else if (!this.#kept.has(name)) this.more++;
  }
}

const listed = (names: readonly string[], more: number): string =>
  names.map((name) => `'${name}'`).join(', ') + (more > 0 ? ` and ${more} more` : '');
