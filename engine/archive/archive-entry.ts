// What both archive readers yield and both writers accept.

import type { ArchiveLimits } from './archive-limits.ts';
import type { ArchiveNotes } from './archive-notes.ts';

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
