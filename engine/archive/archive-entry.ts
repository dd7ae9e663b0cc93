// What both archive readers yield and both writers take.

import type { ArchiveNotes } from './archive-notes.ts';

/** A file inside an archive as a reader yields it. */
export interface ArchiveEntry {
  /** Relative, `/` between folders, passed by entry-path.ts. */
  readonly path: string;
  /** Bytes before compression; the body has exactly as many, else it fails. */
  readonly size: number;
  /**
   * To be read once, whole, before the next entry is asked for; or not at all. A chunk holds until the next one is asked
   * for: its memory is used again.
   */
  readonly body: AsyncIterable<Uint8Array>;
}

/** A file to be written into an archive. */
export interface ArchiveSource {
  readonly path: string;
  /** Bytes of the body; one that has more or fewer fails the archive. */
  readonly size: number;
  /** A writer is done with a chunk when it asks for the next one; a local file is opened when its turn comes. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array> | LocalFile;
  /** Absent = 1980-01-01, so that equal content makes equal archives. */
  readonly modified?: Date;
}

/** By its path. */
export interface LocalFile {
  readonly file: string;
}

/** A local file and its path in the archive: plain data, for whoever has an archive written in a thread. */
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
}

export interface ReadOptions {
  readonly limits: ArchiveLimits;
  /**
   * Sees every file and throws a failure to refuse the archive: of a zip all files before the first body is read, of a tar.gz
   * each file before its own body.
   */
  readonly inspect?: (entry: Pick<ArchiveEntry, 'path' | 'size'>) => void;
  /** Hears what was left out or read in another way than it is written. */
  readonly notes?: ArchiveNotes | undefined;
}

/** Enforced on the bytes that really come out, never on what headers say. */
export interface ArchiveLimits {
  readonly maxTotalBytes: number;
  readonly maxFileBytes: number;
  /** Entries of any kind, dropped ones and folders included. */
  readonly maxEntries: number;
  /** Of all entries together; absent = whatever so many entries may have. */
  readonly maxNameBytes?: number;
  /** From the opening to the end; absent = however long it takes. */
  readonly maxMs?: number;
}

/** The entry limit where a caller has no smaller one (docs/design/decisions.md#archive-module). */
export const MAX_ENTRIES = 100_000;
